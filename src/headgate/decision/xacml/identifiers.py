"""The names that the XACML standards fix: namespaces, categories, attributes, status codes.

Nothing here decides anything; every other module of this folder takes its names from here.
"""

from __future__ import annotations

from typing import Final

XACML_1: Final = "urn:oasis:names:tc:xacml:1.0:"
XACML_11: Final = "urn:oasis:names:tc:xacml:1.1:"
XACML_2: Final = "urn:oasis:names:tc:xacml:2.0:"
XACML_3: Final = "urn:oasis:names:tc:xacml:3.0:"

# Namespaces of the documents that are understood
NAMESPACE_V3: Final = "urn:oasis:names:tc:xacml:3.0:core:schema:wd-17"
POLICY_NAMESPACE_V2: Final = "urn:oasis:names:tc:xacml:2.0:policy:schema:os"
CONTEXT_NAMESPACE_V2: Final = "urn:oasis:names:tc:xacml:2.0:context:schema:os"
XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"

# Categories
ACCESS_SUBJECT: Final = XACML_1 + "subject-category:access-subject"
SUBJECT_CATEGORY_PREFIX: Final = XACML_1 + "subject-category:"
RESOURCE: Final = XACML_3 + "attribute-category:resource"
ACTION: Final = XACML_3 + "attribute-category:action"
ENVIRONMENT: Final = XACML_3 + "attribute-category:environment"

# Attributes with a meaning of their own
RESOURCE_ID: Final = XACML_1 + "resource:resource-id"
CURRENT_TIME: Final = XACML_1 + "environment:current-time"
CURRENT_DATE: Final = XACML_1 + "environment:current-date"
CURRENT_DATE_TIME: Final = XACML_1 + "environment:current-dateTime"
RESOURCE_SCOPES: Final = frozenset({XACML_1 + "resource:scope", XACML_2 + "resource:scope"})
CONTENT_SELECTOR: Final = XACML_3 + "content-selector"
MULTIPLE_CONTENT_SELECTOR: Final = XACML_3 + "multiple:content-selector"
MULTIPLE_CONTENT_SELECTORS: Final = frozenset(
    {MULTIPLE_CONTENT_SELECTOR, XACML_3 + "profile:multiple:content-selector"}
)

# Status codes
STATUS_OK: Final = XACML_1 + "status:ok"
STATUS_MISSING_ATTRIBUTE: Final = XACML_1 + "status:missing-attribute"
STATUS_SYNTAX_ERROR: Final = XACML_1 + "status:syntax-error"
STATUS_PROCESSING_ERROR: Final = XACML_1 + "status:processing-error"
