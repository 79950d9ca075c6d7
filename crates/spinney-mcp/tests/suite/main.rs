//! The server over a pipe, without a program around it.

mod desk;
mod offers;
mod shapes;
