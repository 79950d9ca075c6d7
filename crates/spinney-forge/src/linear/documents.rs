//! What Linear is asked, in GraphQL. They are valid by the schema that Linear publishes with version 88.3.0 of its SDK,
//! and name nothing that version 98.0.0 has not.

/// The fields of an issue, for every document that asks for one.
macro_rules! issue {
    () => {
        "id number title description state { type } labels(first: 50) { nodes { id name } }"
    };
}

macro_rules! comment {
    () => {
        "id body createdAt user { id guest } botActor { id } externalUser { id }"
    };
}

macro_rules! page {
    () => {
        "pageInfo { hasNextPage endCursor }"
    };
}

pub const ISSUES: &str = concat!(
    "query Issues($filter: IssueFilter!, $after: String) {
        issues(filter: $filter, first: 50, after: $after) { nodes { ",
    issue!(),
    " } ",
    page!(),
    " } }"
);

pub const LABELS: &str = concat!(
    "query Labels($filter: IssueLabelFilter!, $after: String) {
        issueLabels(filter: $filter, first: 50, after: $after) { nodes { id isGroup team { key } } ",
    page!(),
    " } }"
);

pub const STATES: &str = concat!(
    "query States($filter: WorkflowStateFilter!, $after: String) {
        workflowStates(filter: $filter, first: 50, after: $after) { nodes { id position } ",
    page!(),
    " } }"
);

pub const COMMENTS: &str = concat!(
    "query Comments($filter: CommentFilter!, $after: String) {
        comments(filter: $filter, first: 50, after: $after) { nodes { ",
    comment!(),
    " } ",
    page!(),
    " } }"
);

pub const ADD_LABEL: &str = "mutation AddLabel($id: String!, $labelId: String!) {
    issueAddLabel(id: $id, labelId: $labelId) { success } }";

pub const REMOVE_LABEL: &str = "mutation RemoveLabel($id: String!, $labelId: String!) {
    issueRemoveLabel(id: $id, labelId: $labelId) { success } }";

pub const MOVE: &str = "mutation Move($id: String!, $stateId: String!) {
    issueUpdate(id: $id, input: { stateId: $stateId }) { success } }";

pub const ADD_COMMENT: &str = concat!(
    "mutation AddComment($id: String!, $issueId: String!, $body: String!) {
        commentCreate(input: { id: $id, issueId: $issueId, body: $body }) { success comment { ",
    comment!(),
    " } } }"
);

pub const EDIT_COMMENT: &str = "mutation EditComment($id: String!, $body: String!) {
    commentUpdate(id: $id, input: { body: $body }) { success } }";

pub const DELETE_COMMENT: &str = "mutation DeleteComment($id: String!) { commentDelete(id: $id) { success } }";
