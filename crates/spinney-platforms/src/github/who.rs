//! Who the bot is on GitHub: an app, or the account of a token.

use spinney_forge::GITHUB;
use spinney_forge::http::Call;

use super::{GithubAdapter, PLATFORM};
use crate::SendError;
use crate::http::api::Api;

impl GithubAdapter {
    pub(super) async fn name(&self) -> Result<String, SendError> {
        let refused = |detail: String| SendError::Refused { platform: PLATFORM, detail };
        let options = self.options.of(&GITHUB);
        let (token, path, field) = match (&options.app, &options.token) {
            (Some(app), _) => {
                let signature = app.signature().ok_or_else(|| refused("the app can't sign".to_owned()))?;
                (signature, "/app", "slug")
            }
            (None, Some(token)) => (token.clone(), "/user", "login"),
            (None, None) => return Err(refused("there is no token".to_owned())),
        };
        let url = self.options.api_url(&GITHUB).parse();
        let url = url.map_err(|_| refused("the address of its API is not valid".to_owned()))?;
        let api = Api::new(PLATFORM, &url, Some("Bearer"), token, self.options.proxy.as_ref());
        let api = api.map_err(|error| refused(error.to_string()))?;
        let reply = api.ask(Call::get(path.to_owned())).await?;
        if !reply.is_success() {
            return Err(api.refusal(&reply));
        }
        let answer = reply.json().unwrap_or_default();
        answer[field].as_str().map(str::to_owned).ok_or_else(|| api.refused("its answer names nobody"))
    }
}
