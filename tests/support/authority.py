"""A time-stamping authority of the test's own: a CA, a certificate for time stamps and `openssl ts`, without any network."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

OPENSSL = shutil.which("openssl")
_CONFIG = """
[req]
distinguished_name = name
[name]
[tsa]
default_tsa = one
[one]
serial = {folder}/serial
crypto_device = builtin
default_policy = 1.2.3.4.1
digests = sha256, sha512
signer_digest = {digest}
accuracy = secs:1
ordering = yes
tsa_name = yes
ess_cert_id_chain = no
[ca_part]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[tsa_part]
basicConstraints = critical, CA:FALSE
extendedKeyUsage = critical, timeStamping
"""
_KEYS = {"rsa": ("rsa:2048",), "ec": ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")}


class Authority:
    """`sort` is rsa or ec; `digest` what it signs with."""

    def __init__(self, folder: Path, sort: str = "rsa", digest: str = "sha256") -> None:
        folder.mkdir(parents=True)
        self.folder, self.ca = folder, folder / "ca.pem"
        (folder / "tsa.cnf").write_text(_CONFIG.format(folder=folder, digest=digest))
        (folder / "serial").write_text("01\n")
        key = ("-newkey", *_KEYS[sort], "-nodes", "-config", folder / "tsa.cnf", "-sha256")
        self._openssl("req", "-x509", *key, "-keyout", folder / "ca.key", "-out", self.ca, "-days", "30",
                      "-subj", "/CN=Test CA", "-extensions", "ca_part")  # fmt: skip
        self._issue("tsa", "tsa_part", key)

    def _issue(self, name: str, part: str, key: tuple[object, ...]) -> None:
        place = self.folder
        self._openssl("req", "-new", *key, "-keyout", place / f"{name}.key", "-out", place / f"{name}.csr",
                      "-subj", "/CN=Test Time Stamps")  # fmt: skip
        self._openssl("x509", "-req", "-in", place / f"{name}.csr", "-CA", self.ca, "-CAkey", place / "ca.key", "-days", "30",
                      "-set_serial", "77", "-extfile", place / "tsa.cnf", "-extensions", part,
                      "-out", place / f"{name}.pem")  # fmt: skip

    def answer(self, query: Path, reply: Path) -> Path:
        self._openssl("ts", "-reply", "-queryfile", query, "-signer", self.folder / "tsa.pem", "-inkey", self.folder / "tsa.key",
                      "-config", self.folder / "tsa.cnf", "-out", reply)  # fmt: skip
        return reply

    def verifies(self, reply: Path, imprint: str) -> bool:
        """What openssl itself says of a reply."""
        done = self._run("ts", "-verify", "-digest", imprint, "-in", reply, "-CAfile", self.ca)
        return done.returncode == 0 and "Verification: OK" in done.stdout

    def _openssl(self, *arguments: object) -> str:
        done = self._run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        assert OPENSSL
        return subprocess.run([OPENSSL, *map(str, arguments)], capture_output=True, text=True, check=False)
