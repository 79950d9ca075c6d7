# What an agent does, without a model: it reads, thinks, edits, commits, and leaves something over.
set -eu
prompt=$(cat)
file=src/$SPINNEY_WORK_ITEM_ID.rs
pace=$((${#prompt} % 4))

think() {
    echo "$1"
    sleep "0.$2"
}

# What git ignores and a build needs was carried over.
test -f .env
think "reading src/lib.rs" $((2 + pace))
echo "// $prompt" >"$file"
think "editing $file" $((6 - pace))
git add "$file"
git commit --quiet --message "$prompt"
think "running its tests" $((3 + pace))
echo "// tested" >>"$file"
echo "$prompt: done"
