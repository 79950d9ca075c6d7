//! Who may do what with the repository.

use spinney_core::forge::{Access, Person};
use spinney_forge::GITHUB;

use crate::forges::story::{PATIENT, Story};

#[tokio::test]
async fn a_person_is_known_by_id_and_by_what_they_may_do() {
    let story = Story::new(&GITHUB, PATIENT);
    let table = [
        ("admin", Some(Access::Write)),
        ("maintain", Some(Access::Write)),
        ("write", Some(Access::Write)),
        ("read", Some(Access::Read)),
        ("none", None),
        ("owner-of-a-new-role", None),
    ];
    for (permission, access) in table {
        story.server.person("mona", 7, permission);
        assert_eq!(story.forge.fetch_person("Mona").await.unwrap(), Some(Person { id: 7, access }), "{permission}");
    }
    for nobody in ["nobody", "", "../../acme/app", "a/b?c#d"] {
        assert_eq!(story.forge.fetch_person(nobody).await.unwrap(), None, "{nobody}");
    }
}
