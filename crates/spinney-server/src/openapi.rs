//! The API's description: OpenAPI 3.1, made from the table of routes and the types of the documents.

use std::collections::BTreeMap;

use axum::http::Method;
use spinney_app::document;
use spinney_core::Platform;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::{ComponentsBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, PathsBuilder, RefOr, Required, ResponseBuilder,
};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use crate::routes::{self, Access};

const TOKEN: &str = "token";

/// JSON of any shape.
#[derive(Debug)]
pub(crate) struct AnyJson;

impl PartialSchema for AnyJson {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(utoipa::openapi::schema::SchemaType::AnyValue).into()
    }
}

impl ToSchema for AnyJson {}

/// What the document says of one route.
#[derive(Clone)]
pub(crate) struct Description {
    pub(crate) summary: &'static str,
    method: HttpMethod,
    access: Access,
    tags: Vec<String>,
    name: String,
    parameters: Vec<Parameter>,
    body: Option<(RefOr<Schema>, Required)>,
    answers: BTreeMap<u16, Option<RefOr<Schema>>>,
    content_type: &'static str,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl std::fmt::Debug for Description {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Description").field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl Description {
    pub(crate) fn new(method: &Method, path: &'static str, access: Access, summary: &'static str) -> Self {
        let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
        let own = words.iter().filter(|word| !matches!(**word, "api" | "v1"));
        let name: Vec<&str> = own.map(|word| word.trim_matches(['{', '}'])).collect();
        let placeholders = words.iter().filter_map(|word| word.strip_prefix('{')?.strip_suffix('}'));
        let parameters = placeholders.map(|name| {
            let text = ObjectBuilder::new().schema_type(Type::String);
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Path)
                .required(Required::True)
                .schema(Some(text))
                .build()
        });
        let (http, verb) = match *method {
            Method::POST => (HttpMethod::Post, "post"),
            Method::DELETE => (HttpMethod::Delete, "delete"),
            _ => (HttpMethod::Get, "get"),
        };
        Self {
            summary,
            method: http,
            access,
            tags: vec![name.first().copied().unwrap_or_default().to_owned()],
            name: format!("{verb}_{}", name.join("_").replace('.', "_")),
            parameters: parameters.collect(),
            body: None,
            answers: BTreeMap::new(),
            content_type: "application/json",
            schemas: Vec::new(),
        }
    }

    pub(crate) fn query<Q: IntoParams>(mut self) -> Self {
        self.parameters.extend(Q::into_params(|| Some(ParameterIn::Query)));
        self
    }

    pub(crate) fn body<B: ToSchema>(mut self) -> Self {
        self.body = Some((self.refer::<B>(), Required::True));
        self
    }

    pub(crate) fn optional_body<B: ToSchema>(mut self) -> Self {
        self.body = Some((self.refer::<B>(), Required::False));
        self
    }

    pub(crate) fn gives<T: ToSchema>(mut self, status: u16) -> Self {
        let schema = self.refer::<T>();
        self.answers.insert(status, Some(schema));
        self
    }

    pub(crate) fn streams(mut self, content_type: &'static str) -> Self {
        self.content_type = content_type;
        self.tags.push("stream".to_owned());
        self.answers.insert(200, None);
        self
    }

    fn refer<T: ToSchema>(&mut self) -> RefOr<Schema> {
        let name = T::name().into_owned();
        self.schemas.push((name.clone(), T::schema()));
        T::schemas(&mut self.schemas);
        RefOr::Ref(utoipa::openapi::Ref::from_schema_name(name))
    }

    fn operation(self) -> OperationBuilder {
        let mut operation = OperationBuilder::new()
            .tags(Some(self.tags))
            .summary(Some(self.summary))
            .operation_id(Some(self.name))
            .parameters(Some(self.parameters));
        if let Access::Api(scope) | Access::Page(scope) = self.access {
            operation = operation
                .description(Some(format!("Needs the scope `{scope}`.")))
                .security(SecurityRequirement::new(TOKEN, [scope.as_str()]));
        }
        if self.method == HttpMethod::Post {
            let text = ObjectBuilder::new()
                .schema_type(Type::String)
                .min_length(Some(1))
                .max_length(Some(200))
                .pattern(Some("^[!-~]+$"));
            let key = ParameterBuilder::new()
                .name(crate::idempotency::HEADER)
                .parameter_in(ParameterIn::Header)
                .description(Some("The same key asks for the same thing once, for a day."))
                .required(Required::False)
                .schema(Some(text));
            operation = operation.parameter(key);
        }
        if let Some((schema, required)) = self.body {
            let content = ContentBuilder::new().schema(Some(schema)).build();
            let body = RequestBodyBuilder::new().content("application/json", content).required(Some(required));
            operation = operation.request_body(Some(body.build()));
        }
        for (status, schema) in self.answers {
            let content = ContentBuilder::new().schema(schema).build();
            let answer = ResponseBuilder::new().description(words_for(status)).content(self.content_type, content);
            operation = operation.response(status.to_string(), answer.build());
        }
        let error = utoipa::openapi::Ref::from_schema_name(document::ErrorDocument::name());
        let content = ContentBuilder::new().schema(Some(error)).build();
        let answer = ResponseBuilder::new().description("What went wrong").content("application/json", content);
        operation.response("default", answer.build())
    }
}

fn words_for(status: u16) -> &'static str {
    match status {
        201 => "Made",
        202 => "Begun; follow it",
        _ => "Done",
    }
}

/// The words that say where a request came from.
fn platforms() -> RefOr<Schema> {
    let declared = spinney_platforms::PLATFORMS.iter().map(|row| row.platform);
    let words = Platform::OWN.into_iter().chain(declared).map(|platform| platform.to_string());
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
}

/// The whole document.
pub(crate) fn document() -> OpenApi {
    let mut components = ComponentsBuilder::new()
        .schema(document::ErrorDocument::name(), document::ErrorDocument::schema())
        .security_scheme(TOKEN, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let mut nested = Vec::new();
    document::ErrorDocument::schemas(&mut nested);
    components = components.schemas_from_iter(nested);
    let mut paths = PathsBuilder::new();
    for route in routes::table() {
        let Some(mut description) = route.description else { continue };
        components = components.schemas_from_iter(std::mem::take(&mut description.schemas));
        let method = description.method.clone();
        paths = paths.path(route.path, PathItem::new(method, description.operation()));
    }
    // All schemas are there by now; this one takes the place of the document's.
    components = components.schema(document::Platform::name(), platforms());
    let info = InfoBuilder::new()
        .title("Spinney")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Isolated workspaces for coding agents, and their jobs. The words and shapes are those of the command line's `--json`."));
    OpenApiBuilder::new().info(info).paths(paths).components(Some(components.build())).build()
}
