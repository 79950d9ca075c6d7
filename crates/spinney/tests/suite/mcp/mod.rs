//! Clients of the MCP server.

mod clients;
mod http;
mod in_job;
mod init;
mod protocol;
mod scope;
mod speed;
mod tools;
