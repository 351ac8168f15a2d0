"""Addresses on a network: IP addresses and DNS names, each with an optional range of ports."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

_IPV4 = re.compile(r"([0-9.]+)(?:/([0-9.]+))?(?::(.*))?", re.ASCII)
_IPV6 = re.compile(r"\[([0-9A-Fa-f:.]+)\](?:/\[([0-9A-Fa-f:.]+)\])?(?::(.*))?", re.ASCII)
_DNS = re.compile(r"((?:\*\.)?[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9_-]+)*|\*)(?::(.*))?", re.ASCII)
_PORTS = re.compile(r"(\d{1,5})|(\d{1,5})?-(\d{1,5})?", re.ASCII)


@dataclass(frozen=True, slots=True)
class PortRange:
    """Ports from one to another, both included; an end that is absent is open."""

    first: int | None
    last: int | None

    def __str__(self) -> str:
        if self.first is not None and self.first == self.last:
            return str(self.first)
        return f"{'' if self.first is None else self.first}-{'' if self.last is None else self.last}"


@dataclass(frozen=True, slots=True)
class IpAddress:
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    mask: ipaddress.IPv4Address | ipaddress.IPv6Address | None = None
    ports: PortRange | None = None

    def __str__(self) -> str:
        plain = self.address.version == 4
        text = str(self.address) if plain else f"[{self.address}]"
        if self.mask is not None:
            text += f"/{self.mask}" if plain else f"/[{self.mask}]"
        return text if self.ports is None else f"{text}:{self.ports}"


@dataclass(frozen=True, slots=True)
class DnsName:
    """A host name in lower case; its first label may be `*`."""

    host: str
    ports: PortRange | None = None

    def __str__(self) -> str:
        return self.host if self.ports is None else f"{self.host}:{self.ports}"


def parse_ip_address(text: str) -> IpAddress:
    """Read an address.

    >>> str(parse_ip_address("10.0.0.1/255.0.0.0:80-90"))
    '10.0.0.1/255.0.0.0:80-90'
    """
    found = _IPV6.fullmatch(text)
    if found is not None:
        mask = ipaddress.IPv6Address(found[2]) if found[2] else None
        return IpAddress(ipaddress.IPv6Address(found[1]), mask, _parse_ports(found[3]))
    found = _IPV4.fullmatch(text)
    if found is None:
        raise ValueError("not an IP address such as 10.0.0.1 or [2001:db8::1]")
    mask_v4 = ipaddress.IPv4Address(found[2]) if found[2] else None
    return IpAddress(ipaddress.IPv4Address(found[1]), mask_v4, _parse_ports(found[3]))


def parse_dns_name(text: str) -> DnsName:
    found = _DNS.fullmatch(text)
    if found is None:
        raise ValueError("not a DNS name such as www.example.org")
    return DnsName(found[1].lower(), _parse_ports(found[2]))


def _parse_ports(text: str | None) -> PortRange | None:
    if text is None:
        return None
    found = _PORTS.fullmatch(text)
    if found is None or text == "-":
        raise ValueError("a range of ports reads 80, 80-90, 80- or -90")
    first, last = (found[1], found[1]) if found[1] else (found[2], found[3])
    ports = PortRange(int(first) if first else None, int(last) if last else None)
    low, high = ports.first or 0, 65_535 if ports.last is None else ports.last
    if not low <= high <= 65_535:
        raise ValueError("ports lie between 0 and 65535, the lower one first")
    return ports
