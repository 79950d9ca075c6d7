//! Where a request came from.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

const FORWARDED_FOR: &str = "x-forwarded-for";

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Network(SocketAddr),
    /// The Unix socket: the kernel saw that it is whoever owns the home.
    Owner,
}

impl Peer {
    /// The address that it has on the network.
    pub(crate) fn address(self) -> Option<String> {
        match self {
            Self::Network(address) => Some(address.ip().to_string()),
            Self::Owner => None,
        }
    }

    /// For whom a proxy on this very machine asks: the last address of `X-Forwarded-For`, the one that it added itself.
    /// What comes from elsewhere is not believed. It decides about nothing but whose failed log-ins are counted together.
    pub(super) fn behind_proxy(self, headers: &HeaderMap) -> Self {
        let Self::Network(proxy) = self else { return self };
        if !proxy.ip().to_canonical().is_loopback() {
            return self;
        }
        let last = headers.get_all(FORWARDED_FOR).iter().next_back().and_then(|value| value.to_str().ok());
        let told = last.and_then(|value| value.rsplit(',').next()).and_then(|text| address(text.trim()));
        told.map_or(self, |client| Self::Network(SocketAddr::new(client, proxy.port())))
    }
}

/// An address as proxies write it, some of them with a port.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().ok().map(|place: SocketAddr| place.ip());
    text.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(peer: &str, forwarded: &[&str]) -> String {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        match Peer::Network(peer.parse().unwrap()).behind_proxy(&headers) {
            Peer::Network(address) => address.ip().to_string(),
            Peer::Owner => "owner".to_owned(),
        }
    }

    #[test]
    fn a_proxy_on_this_machine_tells_for_whom_it_asks() {
        for proxy in ["127.0.0.1:4000", "[::1]:4000", "[::ffff:127.0.0.1]:4000"] {
            assert_eq!(seen(proxy, &["203.0.113.7"]), "203.0.113.7", "{proxy}");
        }
        // Whatever the client said itself stands before what the proxy added.
        assert_eq!(seen("127.0.0.1:1", &["10.0.0.1, 203.0.113.7"]), "203.0.113.7");
        assert_eq!(seen("127.0.0.1:1", &["10.0.0.1", "2001:db8::7"]), "2001:db8::7");
        assert_eq!(seen("127.0.0.1:1", &["[2001:db8::7]:5000"]), "2001:db8::7");
        for nothing in ["", "unknown", "10.0.0.1,"] {
            assert_eq!(seen("127.0.0.1:1", &[nothing]), "127.0.0.1", "{nothing}");
        }
    }

    #[test]
    fn nobody_else_is_believed() {
        assert_eq!(seen("198.51.100.1:4000", &["203.0.113.7"]), "198.51.100.1");
        let mut headers = HeaderMap::new();
        headers.insert(FORWARDED_FOR, "203.0.113.7".parse().unwrap());
        assert_eq!(Peer::Owner.behind_proxy(&headers), Peer::Owner);
    }
}
