//! TLS by certificate files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use spinney_git::{SETTINGS_BYTES, read_persons_text};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What HTTP/2 is called in the handshake.
const HTTP2: &[u8] = b"h2";

/// Why there is no TLS with these files.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("`{}` can't be read", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: Error,
    },
    #[error("`{}` holds no certificate", .0.display())]
    Empty(PathBuf),
    #[error("certificate and key do not go together")]
    Refused(#[source] rustls::Error),
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        Self::other(error)
    }
}

/// What connections are encrypted with; those that are open keep what they began with. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Certificates(Arc<RwLock<TlsAcceptor>>);

impl Certificates {
    pub(crate) fn new(acceptor: TlsAcceptor) -> Self {
        Self(Arc::new(RwLock::new(acceptor)))
    }

    pub(super) fn now(&self) -> TlsAcceptor {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, acceptor: TlsAcceptor) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificates")
    }
}

/// Reads the certificate chain and its key.
pub fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let unreadable = |path: &Path| {
        let path = path.to_owned();
        move |source| TlsError::Unreadable { path, source }
    };
    let read = |path| read_persons_text(path, SETTINGS_BYTES).map_err(Error::Io);
    let text = read(certificate).map_err(unreadable(certificate))?;
    let chain = CertificateDer::pem_slice_iter(text.as_bytes());
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(unreadable(certificate))?;
    if chain.is_empty() {
        return Err(TlsError::Empty(certificate.to_owned()));
    }
    let text = read(key).map_err(unreadable(key))?;
    let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(unreadable(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key))
        .map_err(TlsError::Refused)?;
    config.alpn_protocols = vec![HTTP2.to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Whether client and server agreed on HTTP/2.
pub(super) fn is_http2<S>(stream: &TlsStream<S>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(HTTP2)
}
