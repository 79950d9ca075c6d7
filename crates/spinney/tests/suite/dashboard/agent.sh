# An agent that mends a small program, in the words of Claude Code's stream: it does what it says that it does.
# GO: the file that it waits for, where its work has no end of its own. ROLE: `reviewer` for one that only reads.

cat >/dev/null
number=0
context=228000

# Text as the inside of a JSON string.
quoted() {
	printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/	/\\t/g' | awk 'NR > 1 { printf "\\n" } { printf "%s", $0 }'
}

# One content block of the model's, with what it took.
block() {
	number=$((number + 1))
	context=$((context + 7300))
	printf '{"type":"assistant","message":{"id":"msg_%s","content":[%s],"usage":{"input_tokens":12,"output_tokens":184,"cache_read_input_tokens":%s,"cache_creation_input_tokens":1534}},"parent_tool_use_id":null}\n' \
		"$number" "$1" "$context"
	sleep 0.2
}

say() {
	block "{\"type\":\"text\",\"text\":\"$(quoted "$1")\"}"
}

# tool NAME KEY VALUE COMMAND: uses a tool, which is that command.
tool() {
	block "{\"type\":\"tool_use\",\"id\":\"toolu_$number\",\"name\":\"$1\",\"input\":{\"$2\":\"$(quoted "$3")\"}}"
	if told=$(sh -c "$4" 2>&1); then failed=false; else failed=true; fi
	printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_%s","content":"%s","is_error":%s}]}}\n' \
		"$((number - 1))" "$(quoted "$told")" "$failed"
}

run() {
	tool Bash command "$1" "$1"
}

# ends SUMMARY: the result, with the sum of what it took.
ends() {
	printf '{"type":"result","subtype":"success","is_error":%s,"result":"%s","total_cost_usd":0.%02d,"usage":{"input_tokens":%s,"output_tokens":%s,"cache_read_input_tokens":%s,"cache_creation_input_tokens":%s}}\n' \
		"${2:-false}" "$(quoted "$1")" "$((number * 2))" "$((number * 12))" "$((number * 184))" "$((number * 261000))" "$((number * 1534))"
	exit
}

printf '{"type":"system","subtype":"init","session_id":"00000000-0000-4000-8000-000000000001","model":"scripted"}\n'

case ${ROLE:-coder}/$SPINNEY_WORKSPACE_NAME in
reviewer/*)
	tool Read file_path src/login.sh 'cat src/login.sh'
	ends "It reads well: one place says how long a session lasts, and a test holds it."
	;;
*/issue-42)
	say "People are logged out after a minute, whatever they chose. I'll look at where the lifetime of a session comes from before I change anything."
	tool Grep pattern expires_in 'grep -rn expires_in src tests'
	tool Read file_path src/login.sh 'cat src/login.sh'
	run "sh tests/login.sh"
	say "The lifetime is written in minutes here, and read as seconds by the cookie. That is the bug: 60 is a minute there."
	tool Edit file_path src/login.sh "sed -i 's/# How long a session lasts\\./# How long a session lasts, in seconds./; s/echo 60/echo \$((60 * 60))/' src/login.sh"
	run "sh tests/login.sh"
	tool Write file_path CHANGES.md 'printf "%s\n" "# Changes" "" "- Sessions last an hour again, not a minute." >CHANGES.md'
	run 'git add --all && git commit --quiet --message "Sessions last an hour, not a minute" && git show --stat --format=%s'
	ends "Sessions last an hour again: the lifetime was in minutes, and is read as seconds. The test that was red is green."
	;;
*/task-add-dark-mode)
	tool Write file_path src/theme.sh 'printf "%s\n" "theme() {" "	echo dark" "}" >src/theme.sh'
	run 'git add --all && git commit --quiet --message "A dark theme"'
	ends "Adds a dark theme."
	;;
*/task-fix-the-contrast)
	tool Write file_path src/theme.sh 'printf "%s\n" "theme() {" "	echo light, with more contrast" "}" >src/theme.sh'
	run 'git add --all && git commit --quiet --message "More contrast"'
	ends "Raises the contrast of the light theme."
	;;
*/issue-57)
	tool Write file_path src/parser.sh 'printf "%s\n" "parse() {" "	:" "}" >src/parser.sh'
	run 'git add --all && git commit --quiet --message "Try the other parser"'
	run 'sh tests/parser.sh'
	ends "API Error: 529 overloaded, after ten tries" true
	;;
*/task-speed-up-the-search)
	say "The index is rebuilt on every keystroke. I'll measure that, and then build it once."
	tool Read file_path src/search.sh 'cat src/search.sh'
	tool Bash command "sh bench/search.sh" "while [ ! -e '$GO' ]; do sleep 0.1; done"
	ends "Builds the index once."
	;;
*)
	ends "There is nothing to do."
	;;
esac
