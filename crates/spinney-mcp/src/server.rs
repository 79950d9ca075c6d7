//! The handlers of the protocol.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use spinney_app::document::fit::fit;
use spinney_core::names::for_message;

use crate::seat::Seat;
use crate::tools::{self, Row, TABLE, Tool};
use crate::{resources, wait};

/// What a client is told before it asks for anything.
const INSTRUCTIONS: &str = "Spinney gives each piece of work its own workspace: a directory and a branch of the \
    repository, ready to build. Get one with `workspace_new` and work in its `path` with your own tools. `run` has an agent \
    work in a workspace of its own; follow it with `job_wait`. `deliver` commits, pushes and opens a pull request. \
    `workspace_remove` moves a workspace to the trash and refuses while work in it could be lost; `workspace_restore` \
    brings it back. Never delete a workspace's directory yourself. The field `shortened` names values that were too long and were cut.";

/// One seat's server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Server {
    seat: Seat,
}

impl Server {
    #[must_use]
    pub fn new(seat: Seat) -> Self {
        Self { seat }
    }

    /// The tool of a name, if it is offered here.
    fn find(&self, name: &str) -> Result<&'static Row, ErrorData> {
        let unknown = |why: &str| ErrorData::invalid_params(format!("the tool `{}` {why}", for_message(name)), None);
        let row = TABLE.iter().find(|row| row.name == name).ok_or_else(|| unknown("is unknown"))?;
        match row.is_offered(&self.seat) {
            true => Ok(row),
            false if self.seat.scope >= row.scope() => {
                Err(unknown("is not offered to the agent of a job: `run` starts a job, which brings its own workspace"))
            }
            false => Err(unknown("is not offered: the scope of this server does not allow it")),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("spinney", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = TABLE.iter().filter(|row| row.is_offered(&self.seat));
        Ok(ListToolsResult::with_all_items(offered.map(|row| row.tool(&self.seat)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let row = self.find(&request.name)?;
        let arguments = request.arguments.unwrap_or_default();
        let outcome = match row.tool {
            Tool::JobWait => wait::job_wait(&self.seat, arguments, &context).await,
            tool => {
                let seat = self.seat.clone();
                self.seat.work(move || async move { tools::carry_out(&seat, tool, arguments).await }).await
            }
        };
        match outcome {
            Ok(document) => Ok(CallToolResult::structured(fit(document)).into()),
            Err(fault) => Ok(fault.into_result()?.into()),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(resources::read(self.seat.clone(), request.uri).await?.into())
    }

    /// A known method comes here when its parameters are not what they must be.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = for_message(&request.method);
        Err(match request.method.as_str() {
            "tools/call" => ErrorData::invalid_params(
                "the parameters of `tools/call` are `name`, a text, and `arguments`, an object",
                None,
            ),
            "initialize" | "tools/list" | "resources/read" | "resources/templates/list" | "resources/list" => {
                ErrorData::invalid_params(format!("the parameters of `{method}` are not what they must be"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None),
        })
    }
}
