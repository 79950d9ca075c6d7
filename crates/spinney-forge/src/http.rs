//! JSON over HTTP as the forges are spoken to, for other APIs too: encrypted with the system's roots, bounded in time and
//! size, and with a token that follows no redirect to another host.

pub use ureq::Proxy;
pub use ureq::http::{HeaderValue, Method};

pub use crate::answer::Reply;
pub use crate::client::{Client, Failure};
pub use crate::dialect::Call;
pub use crate::patience::Later;
pub use crate::url::{Url, encode};
