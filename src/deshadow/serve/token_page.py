"""The page that asks for the token, for a browser that opens the address of a protected server."""

import base64
import hashlib

from starlette.responses import HTMLResponse

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { display: grid; place-content: center; min-height: 100vh; margin: 0; }
main { width: min(22rem, 100vw - 3rem); }
h1 { font-size: 1.4rem; }
input, button { box-sizing: border-box; width: 100%; margin-top: 0.5rem; padding: 0.6rem; font: inherit; }
[role=alert] { color: light-dark(#a40000, #ff9a9a); }
"""
_ALLOWED = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_ALLOWED}'; form-action 'self'; base-uri 'none'; "
_POLICY += "frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>deshadow: token</title>
<style>{style}</style>
<main>
<h1>This server needs a token</h1>
{wrong}<p>It is in the address that the server printed when it started, after <code>token=</code>. Ask the
person who started the server for it.</p>
<form action="/" method="get">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Continue</button>
</form>
</main>
</html>
"""
_WRONG = '<p role="alert">This token is wrong.</p>\n'


def ask_for_token(wrong: bool) -> HTMLResponse:
    """The page as a response of status 401; `wrong` says that the request had a token, but another one."""
    page = _PAGE.format(style=_STYLE, wrong=_WRONG if wrong else "")
    return HTMLResponse(page, 401, {"Content-Security-Policy": _POLICY, "WWW-Authenticate": "Bearer"})
