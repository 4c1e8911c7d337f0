"""Dialects of reports that are made for machines; a task chooses them by these names."""

from assay.domain.logs.dialect import Reader, alias, dialect
from assay.domain.logs.json_reports import go_events, jest_documents, mocha_documents, rust_events
from assay.domain.logs.tap import protocol
from assay.domain.logs.xml_documents import junit, trx

JEST_JSON = dialect("jest-json", "javascript", Reader(jest_documents))
NEXTEST_JSON = dialect("nextest-json", "rust", Reader(rust_events))

ROWS = (
    dialect("junit", "any", Reader(junit)),
    dialect("gotest-json", "go", Reader(go_events)),
    dialect("tap", "any", Reader(protocol)),
    JEST_JSON,
    alias("vitest-json", JEST_JSON),
    dialect("mocha-json", "javascript", Reader(mocha_documents)),
    dialect("trx", "csharp", Reader(trx)),
    NEXTEST_JSON,
    alias("libtest-json", NEXTEST_JSON),
)
