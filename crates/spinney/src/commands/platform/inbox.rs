//! `spinney platform inbox`: what platforms sent.

use clap::Args;
use spinney_app::{Page, PageAsked, activity, document};
use spinney_core::DeliveryStatus;

use crate::app::App;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

#[derive(Debug, Args)]
pub struct InboxArgs {
    /// Only what nothing was done about
    #[arg(long)]
    ignored: bool,
    /// How many to list, at most 200
    #[arg(short = 'n', long = "limit", value_name = "N", default_value_t = 50)]
    limit: u32,
}

pub async fn run(app: &App, args: &InboxArgs) -> Result<u8> {
    let engine = app.open_engine().await?;
    let asked = PageAsked { limit: Some(args.limit), cursor: None };
    let Page { rows, next } = activity::inbox(&engine, args.ignored, &asked).await?;
    if app.ui.json {
        let messages = rows.iter().map(|(_, message)| document::InboxMessage::of(message)).collect();
        app.ui.print_json(&document::InboxPage { messages, next });
        return Ok(0);
    }
    if rows.is_empty() {
        app.ui.say(if args.ignored { "nothing was ignored" } else { "no platform sent anything yet" });
        return Ok(0);
    }
    let mut table = Table::with_header(&["RECEIVED", "PLATFORM", "CONVERSATION", "USER", "STATE", "WHY"]);
    for (_, message) in &rows {
        let is_ignored = DeliveryStatus::IGNORED.contains(&message.status);
        let why = match (message.reason().filter(|_| is_ignored), &message.job_id) {
            (Some(reason), _) => words::ignored(&reason),
            (None, Some(job)) => format!("job {job}"),
            (None, None) => String::new(),
        };
        table.row([
            Cell::from(words::ago(message.received_at)),
            Cell::from(message.platform.to_string()),
            Cell::styled(words::plain(&message.conversation).into_owned(), style::NAME),
            Cell::from(words::plain(&message.author).into_owned()),
            Cell::from(message.status.to_string()),
            Cell::from(words::plain(&why).into_owned()),
        ]);
    }
    app.ui.print_table(&table);
    Ok(0)
}
