//! Which address answers with what. The store is opened for each reading and closed again, so that a run that writes it
//! never waits long.

use super::guard::{self, REPORT_POLICY, Token};
use super::watcher::News;
use super::{live, pages, studies};
use crate::feed::Follower;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::{Stream, unfold};
use percent_encoding::percent_decode_str;
use plimsoll_model::{Cause, Failure};
use plimsoll_record::Store;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

const SCRIPT: &str = include_str!("live.js");
const STYLE: &str = include_str!("style.css");

/// What every answer needs.
pub(super) struct Site {
    pub token: Token,
    pub port: u16,
    pub store: PathBuf,
    pub runs: PathBuf,
    pub news: News,
}

type Shared = State<Arc<Site>>;

/// The addresses, all below the token.
pub(super) fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/{token}/", get(index))
        .route("/{token}/events", get(events))
        .route("/{token}/compare", get(compare))
        .route("/{token}/live.js", get(async || typed("text/javascript", SCRIPT.to_owned())))
        .route("/{token}/{study}", get(study))
        .route("/{token}/style.css", get(async || typed("text/css", style())))
        .fallback(async || {
            (StatusCode::NOT_FOUND, Html(pages::refusal("Not found", "This page does not exist.")))
        })
        .layer(middleware::from_fn_with_state(site.clone(), guarded))
        .with_state(site)
}

/// Lets in who knows the token, and no request that means another host.
async fn guarded(State(site): Shared, request: Request, next: Next) -> Response {
    let token = request.uri().path().split('/').nth(1).unwrap_or_default();
    let welcome = guard::is_this_host(request.headers(), site.port) && site.token.is(token);
    let mut response = match welcome {
        true => next.run(request).await,
        // Nothing is reported that tells which of the two was wrong.
        false => (StatusCode::FORBIDDEN, "Open the address that plimsoll serve prints.\n")
            .into_response(),
    };
    guard::harden(response.headers_mut());
    response
}

/// What is there now, read anew: so that it is right in a browser without scripts, too.
async fn index(State(site): Shared) -> Response {
    blocking(move || {
        let mut follower = Follower::new(&site.runs);
        while follower.look() {}
        let list = studies::list(&Store::open_to_read(&site.store)?)?;
        Ok(pages::index(&live::runs(follower.runs()), &list))
    })
    .await
}

async fn study(State(site): Shared, Path((_, id)): Path<(String, String)>) -> Response {
    let store = site.store.clone();
    let page = move || pages::study(&Store::open_to_read(&store)?, &id);
    let mut response = blocking(page).await;
    if response.status() == StatusCode::OK {
        let policy = HeaderValue::from_static(REPORT_POLICY);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

async fn compare(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    let ticked: Vec<String> = query
        .unwrap_or_default()
        .split('&')
        .filter_map(|pair| pair.strip_prefix("study="))
        .map(|id| percent_decode_str(id).decode_utf8_lossy().into_owned())
        .collect();
    let Ok([a, b]) = <[String; 2]>::try_from(ticked) else {
        let why = "Select two studies in the list to compare them.";
        return (StatusCode::BAD_REQUEST, Html(pages::refusal("Two studies", why))).into_response();
    };
    let store = site.store.clone();
    blocking(move || pages::compare(&Store::open_to_read(&store)?, &a, &b)).await
}

/// What changes, as it changes: `runs` and `studies`, each the markup of its part of the page.
async fn events(
    State(site): Shared,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send + use<>> {
    let mut feeds =
        Feeds { runs: site.news.runs.subscribe(), studies: site.news.studies.subscribe() };
    // What is known already is sent at once.
    feeds.runs.mark_changed();
    feeds.studies.mark_changed();
    let stream = unfold(feeds, async |mut feeds| Some((Ok(feeds.next().await?), feeds)));
    Sse::new(stream).keep_alive(KeepAlive::default())
}

struct Feeds {
    runs: watch::Receiver<Arc<str>>,
    studies: watch::Receiver<Arc<str>>,
}

impl Feeds {
    /// The next part that changed; `None` when the server ends. A reader that is slow gets the
    /// latest and not all in between.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let (name, changed) = tokio::select! {
                changed = self.runs.changed() => ("runs", changed.map(|()| &mut self.runs)),
                changed = self.studies.changed() => ("studies", changed.map(|()| &mut self.studies)),
            };
            let markup = changed.ok()?.borrow_and_update().clone();
            if !markup.is_empty() {
                return Some(Event::default().event(name).data(&*markup));
            }
        }
    }
}

/// Does what reads the disk on a thread where that may take its time.
async fn blocking(work: impl FnOnce() -> Result<String, Failure> + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(page)) => Html(page).into_response(),
        Ok(Err(failure)) => {
            let status = match failure.cause {
                Cause::Usage => StatusCode::NOT_FOUND,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, Html(pages::failed(&failure))).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn style() -> String {
    format!("{}{STYLE}", plimsoll_report::chart::STYLE)
}

fn typed(kind: &'static str, text: String) -> Response {
    ([(CONTENT_TYPE, HeaderValue::from_static(kind))], Body::from(text)).into_response()
}
