//! Many questions at once, but not all of them.

use futures_util::{StreamExt, stream};

/// How many trees or commits git is asked about at once: enough to keep the machine busy, few enough to leave it usable.
const AT_ONCE: usize = 8;

/// Drives futures on this one thread, a few at a time; the answers come in the order of the questions.
pub async fn ask_all<F: Future>(questions: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    // Collected, for a stream that kept the closure would not be `Send`.
    let numbered: Vec<_> =
        questions.into_iter().enumerate().map(|(place, question)| async move { (place, question.await) }).collect();
    let mut answers: Vec<(usize, F::Output)> = stream::iter(numbered).buffer_unordered(AT_ONCE).collect().await;
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[tokio::test]
    async fn answers_keep_their_order_and_only_a_few_run_at_once() {
        let (now, most) = (Cell::new(0), Cell::new(0));
        let (now, most) = (&now, &most);
        let question = |number: usize| async move {
            now.set(now.get() + 1);
            most.set(most.get().max(now.get()));
            for _ in 0..(30 - number) {
                tokio::task::yield_now().await;
            }
            now.set(now.get() - 1);
            number
        };
        assert_eq!(ask_all((0..30).map(question)).await, (0..30).collect::<Vec<_>>());
        assert_eq!((now.get(), most.get()), (0, AT_ONCE));
        assert!(ask_all(Vec::<std::future::Ready<u8>>::new()).await.is_empty());
    }
}
