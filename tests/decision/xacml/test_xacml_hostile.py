"""Documents from people who mean harm: refused quickly, in little memory, with a clear reason."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest
from xacml_documents import EMPTY, NAMESPACE, policy, rule, subject

from headgate.decision.xacml import (
    Decision,
    Pdp,
    read_json_request,
    read_policy,
    read_policy_file,
    read_request,
    read_response,
)
from headgate.errors import FileError, InputError, ParseError

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
DEEP = "<a>" * 10_000 + "</a>" * 10_000


@pytest.mark.parametrize(
    ("prologue", "body"),
    [
        ('<!DOCTYPE Policy SYSTEM "http://example.org/p.dtd">', "<Policy/>"),
        ('<!DOCTYPE Policy [<!ENTITY x SYSTEM "file:///etc/hostname">]>', "<Policy>&x;</Policy>"),
        ('<!DOCTYPE Policy [<!ENTITY % x SYSTEM "http://example.org/x"> %x;]>', "<Policy/>"),
        (f'<!DOCTYPE Policy [<!ENTITY l0 "ha">{LAUGHS}]>', "<Policy>&l9;</Policy>"),
        ("<!DOCTYPE Policy>", "<Policy/>"),
    ],
)
def test_a_doctype_is_refused_before_anything_in_it_is_read(prologue: str, body: str) -> None:
    for read in (read_policy, read_request, read_response):
        started_at = time.monotonic()
        with pytest.raises(ParseError, match="DOCTYPE"):
            read(f'<?xml version="1.0"?>{prologue}{body}')
        assert time.monotonic() - started_at < 1


def test_an_entity_without_a_doctype_is_broken_xml() -> None:
    with pytest.raises(ParseError, match="undefined entity"):
        read_policy(f'<Policy xmlns="{NAMESPACE}">&nothing;</Policy>')


def test_deep_nesting_is_refused_at_once() -> None:
    for read in (read_policy, read_request):
        started_at = time.monotonic()
        with pytest.raises(ParseError, match="nested deeper than 100"):
            read(DEEP)
        assert time.monotonic() - started_at < 1
    with pytest.raises(ParseError, match="refused"):
        read_json_request("[" * 100_000)


def test_a_policy_as_deep_as_allowed_is_evaluated() -> None:
    truth = '<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#boolean">true</AttributeValue>'
    name = "urn:oasis:names:tc:xacml:1.0:function:and"
    condition = f'<Apply FunctionId="{name}">' * 96 + truth + "</Apply>" * 96
    assert Pdp([read_policy(policy(rule(condition=condition)))]).decide(EMPTY).result.decision is Decision.PERMIT


def test_a_document_of_100_mb_is_refused_without_reading_it_whole(tmp_path: Path) -> None:
    large = tmp_path / "large.xml"
    with large.open("wb") as file:
        file.truncate(100 << 20)
    tracemalloc.start()
    try:
        started_at = time.monotonic()
        with pytest.raises(FileError, match="larger than 16 MiB"):
            read_policy_file(large)
        assert time.monotonic() - started_at < 2
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(FileError, match="larger than 16 MiB"):
        read_request(" " * (17 << 20))
    with pytest.raises(FileError, match="larger than 16 MiB"):
        read_json_request(" " * (17 << 20))


def test_a_crowd_of_elements_is_refused() -> None:
    with pytest.raises(ParseError, match="more than 500000 elements"):
        read_policy(f'<Policy xmlns="{NAMESPACE}">' + "<a/>" * 500_001 + "</Policy>")


@pytest.mark.parametrize(
    "data",
    [
        b'<?xml version="1.0" encoding="ISO-8859-1"?><Policy/>',
        "<Policy Ä='x'/>".encode("latin-1"),
        '<?xml version="1.0" encoding="UTF-16"?><Policy/>'.encode("utf-16"),
        b'<?xml version="1.0" encoding="UTF-7"?><Policy/>',
        "<Policy/>".encode("utf-32"),
        "<Policy>\ud800</Policy>",
    ],
)
def test_other_encodings_than_utf_8_are_refused(data: bytes | str) -> None:
    with pytest.raises(ParseError, match=r"UTF-8|encoding"):
        read_policy(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   ",
        b"<",
        b"<a>",
        b"<a></b>",
        b"\x00",
        b"not xml",
        b"<a/><b/>",
        b"<x:a/>",
        b"<a b='1' b='2'/>",
        b"<a>\x01</a>",
    ],
)
def test_broken_documents_are_parse_errors_with_a_hint(data: bytes) -> None:
    for read in (read_policy, read_request, read_response):
        with pytest.raises(ParseError) as caught:
            read(data)
        assert caught.value.hint


@pytest.mark.parametrize("namespace", ["", "urn:oasis:names:tc:xacml:1.0:policy", "http://example.org"])
def test_unknown_namespaces_are_refused(namespace: str) -> None:
    with pytest.raises(ParseError, match="namespace"):
        read_policy(policy(rule()).replace(NAMESPACE, namespace))
    with pytest.raises(ParseError, match="namespace"):
        read_request(f'<Request xmlns="{namespace}"/>')


def test_elements_of_a_foreign_namespace_inside_a_policy_are_refused() -> None:
    with pytest.raises(ParseError, match="not expected"):
        read_policy(policy('<x:Rule xmlns:x="urn:x" RuleId="r" Effect="Permit"/>'))
    with pytest.raises(ParseError, match="not expected"):
        read_request(f'<Request xmlns="{NAMESPACE}"><x:Attributes xmlns:x="urn:x"/></Request>')


def test_comments_and_instructions_split_no_value() -> None:
    document = policy(rule()).replace("<Target/>", "<!-- a --><Target/><?b c?>")
    assert read_policy(document).id == "p"


def test_hostile_content_of_a_request_is_indeterminate() -> None:
    asked = read_json_request(
        '{"Request": {"Resource": {"Content": "<!DOCTYPE a [<!ENTITY x SYSTEM \\"file:///etc/hostname\\">]><a>&x;</a>"}}}'
    )
    path = (
        '<AttributeSelector Category="urn:oasis:names:tc:xacml:3.0:attribute-category:resource" Path="/a/text()" '
        'DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>'
    )
    size = f'<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:string-bag-size">{path}</Apply>'
    one = '<AttributeValue DataType="http://www.w3.org/2001/XMLSchema#integer">1</AttributeValue>'
    condition = f'<Apply FunctionId="urn:oasis:names:tc:xacml:1.0:function:integer-equal">{size}{one}</Apply>'
    result = Pdp([read_policy(policy(rule(condition=condition)))]).decide(asked).result
    assert result.decision is Decision.INDETERMINATE_P
    assert "DOCTYPE" in (result.status.message or "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"Request": 1}',
        '{"Request": {}, "Request": {}}',
        '{"Request": {"Surprise": 1}}',
        '{"Request": {"Category": [1]}}',
        '{"Request": {"Category": [{}]}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a"}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": NaN}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": null}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": [1, "x"]}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": ' + "9" * 5000 + "}]}}}",
        '{"Request": {"Resource": {"Content": "no xml"}}}',
        '{"Request": {"ReturnPolicyIdList": "yes"}}',
        '{"Request": {"MultiRequests": {"RequestReference": [{"ReferenceId": [1]}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": "\\u0000"}]}}}',
        '{"Request": {"Resource": {"Attribute": [{"AttributeId": "a", "Value": ["\\ud800"]}]}}}',
        b"\xff\xfe",
    ],
)
def test_broken_json_is_refused_with_a_hint(text: str | bytes) -> None:
    with pytest.raises(InputError) as caught:
        read_json_request(text)
    assert caught.value.hint


def test_nothing_of_a_huge_bag_is_quadratic() -> None:
    values = [str(number) for number in range(50_000)]
    bag = (
        '<AttributeDesignator Category="urn:oasis:names:tc:xacml:1.0:subject-category:access-subject" AttributeId="{}" '
        'DataType="http://www.w3.org/2001/XMLSchema#string" MustBePresent="false"/>'
    )
    name = "urn:oasis:names:tc:xacml:1.0:function:string-set-equals"
    condition = f'<Apply FunctionId="{name}">{bag.format("a")}{bag.format("b")}</Apply>'
    started_at = time.monotonic()
    asked = subject({"a": values, "b": values[::-1]})
    assert Pdp([read_policy(policy(rule(condition=condition)))]).decide(asked).result.decision is Decision.PERMIT
    assert time.monotonic() - started_at < 5
