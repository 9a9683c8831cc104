//! What a document is written as: a file for each.

mod csv;
mod html;
mod markdown;
mod table;
mod terminal;
