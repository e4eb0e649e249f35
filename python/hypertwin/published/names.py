"""Names of CPUs: one form for the strings of all sources, and the generation of a CPU by its model number.

`v2` to `v4` of a Xeon E5 or E7 is the generation, and so is the second digit of a Xeon Scalable. The first digit of an
EPYC is the series, and the last the generation. The vendors explain their numbers:

- https://www.intel.com/content/www/us/en/processors/processor-numbers-data-center.html
- https://www.amd.com/en/products/processors/server/epyc/faqs.html
"""

from __future__ import annotations

import re

MAX_LENGTH = 200
"""Characters of a string that are read. The longest real names have 60."""

_MARKS = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_CLOCK = re.compile(r"[@,]?\s*(?<![\w.])\d+(?:\.\d+)?\s*[gm]hz\b", re.IGNORECASE)
_REST = re.compile(r"[(\[].*?(?:[)\]]|$)|@.*$|\bdell sku\b.*$|\bwith radeon\b.*$", re.IGNORECASE)
_CORES = re.compile(r"\b(?:\d+|dual|quad|six|eight|twelve|sixteen)-core\b", re.IGNORECASE)
_FILLERS = re.compile(r"\b(?:64-bit|multi-core|multi|cpu|processor)\b|(?<=\s)-(?=\s)", re.IGNORECASE)
_WORDS = {
    word.casefold(): word
    for word in (
        *("Intel", "Xeon", "Bronze", "Silver", "Gold", "Platinum", "Max", "Genuine"),
        *("AMD", "EPYC", "Opteron", "Ampere", "Altra", "Huawei", "Kunpeng"),
    )
}
_TIERS = re.compile(r"\b(?:bronze|silver|gold|platinum|max) ")
_BARE = (
    (
        re.compile(r"xeon\b|(?:bronze|silver|gold|platinum|max)\s+\d|e[357][ -]*\d|[xelw]5\d{3}\b", re.IGNORECASE),
        "Intel",
    ),
    (re.compile(r"epyc\b|opteron\b", re.IGNORECASE), "AMD"),
)


def name(text: str) -> str:
    """Return the name of a CPU in one form, such as `Intel Xeon E5-2650 v4`.

    `text` is a string of RVTools, vCenter, Prism, `/proc/cpuinfo`, Hyper-V or a person. An unknown string keeps its
    words. The result is empty if no word is left.
    """
    plain = "".join(letter if letter.isprintable() else " " for letter in text[:MAX_LENGTH])
    for noise in (_MARKS, _CLOCK, _REST, _CORES, _FILLERS):
        plain = noise.sub(" ", plain)
    plain = re.sub(r"^\d+ ?x (?=\D)", "", " ".join(plain.split()).strip(" ,-"), flags=re.IGNORECASE)
    plain = re.sub(r"\b(e[357])[ -]+(?=\d)", r"\1-", plain, flags=re.IGNORECASE)
    for bare, vendor in _BARE:
        if bare.match(plain):
            plain = f"{vendor} {plain}"
    plain = re.sub(
        r"^(intel) (?!xeon|genuine)(?=bronze|silver|gold|platinum|max|e[357]|[xelw]5)",
        r"\1 Xeon ",
        plain,
        flags=re.IGNORECASE,
    )
    plain = re.sub(r"(?<=xeon )6 (?=6\d{3}[pe])", "", plain, flags=re.IGNORECASE)  # the family is Xeon 6
    plain = re.sub(r"(?<=\d) 0$", "", plain)  # version 1 of a Xeon E5
    plain = re.sub(r"(?<=\d)([lw]?) ?v(?=[2-9]$)", r"\1 v", plain, flags=re.IGNORECASE)
    plain = re.sub(r"(?<=opteron )(\d{4}) (?=(?:he|se|ee)$)", r"\1", plain, flags=re.IGNORECASE)
    return " ".join(map(_word, plain.split()))


def _word(word: str) -> str:
    if re.fullmatch(r"v\d", word, re.IGNORECASE):
        return word.lower()
    return _WORDS.get(word.casefold()) or (word.upper() if re.search(r"\d", word) else word)


def key(cpu: str) -> str:
    """Return what two names of one CPU have in common. Sources leave out the tier, as in `Xeon 8480+`."""
    return _TIERS.sub("", name(cpu).casefold())


def without_p(cpu: str) -> str | None:
    """Return the name of an EPYC for two sockets, if the CPU is its variant for one socket (suffix P)."""
    found = re.fullmatch(r"(AMD EPYC \w{4})P", name(cpu))
    return found[1] if found else None


_XEON = r"intel xeon (?:bronze |silver |gold |platinum )?"
_GENERATIONS = tuple(
    (re.compile(pattern), generation)
    for pattern, generation in (
        (r"intel xeon [xelw][57]5\d\d", "Nehalem"),
        (r"intel xeon [xelw]56\d\d", "Westmere"),
        (r"intel xeon e7-[248]8\d\dl?", "Westmere"),
        (r"intel xeon e5-[1-4][46]\d\d[lwa]?", "Sandy Bridge"),
        (r"intel xeon e[57]-\d{4}[a-z]? v2", "Ivy Bridge"),
        (r"intel xeon e[57]-\d{4}[a-z]? v3", "Haswell"),
        (r"intel xeon e[57]-\d{4}[a-z]? v4", "Broadwell"),
        (r"intel xeon d-1[56]\d\d[a-z]*", "Broadwell"),
        (r"intel xeon d-21\d\d[a-z]*", "Skylake"),
        (r"intel xeon d-[12]7\d\d[a-z]*", "Ice Lake"),
        (_XEON + r"[3-68]1\d\d[a-z+]*", "Skylake"),
        (_XEON + r"[3-689]2\d\d[a-z+]*", "Cascade Lake"),
        (_XEON + r"[5-8]3\d\dhl?", "Cooper Lake"),
        (_XEON + r"[4-68]3\d\d[a-z+]*", "Ice Lake"),
        (_XEON + r"[3-68]4\d\d[a-z+]*", "Sapphire Rapids"),
        (r"intel xeon (?:max )?94\d\d", "Sapphire Rapids"),
        (_XEON + r"[3-68]5\d\d(?!p|e)[a-z+]*", "Emerald Rapids"),
        (_XEON + r"8558p", "Emerald Rapids"),
        (r"intel xeon 6[579]\d\dp[a-z+-]*", "Granite Rapids"),
        (r"intel xeon 6[79]\d\de[a-z+-]*", "Sierra Forest"),
        (r"amd epyc (?:7[0-9a-z]{2}1|3\d\d1)p?", "Naples"),
        (r"amd epyc 7[0-9a-z]{2}2p?x?", "Rome"),
        (r"amd epyc 7[0-9a-z]{2}3[px]?", "Milan"),
        (r"amd epyc [89][0-9a-z]{2}4[pfxns]*", "Genoa"),
        (r"amd epyc 9[0-9a-z]{2}5[pfx]*", "Turin"),
        (r"amd opteron [46]1\d\d(?:he|se|ee)?", "Opteron of 2010"),
        (r"amd opteron [46]2\d\d(?:he|se|ee)?", "Bulldozer"),
        (r"amd opteron [46]3\d\d(?:he|se|ee|p)?", "Piledriver"),
        # hosts as libvirt names them: CPU models of QEMU, www.qemu.org/docs/master/system/i386/cpu.html
        (r"westmere(?:-.*)?", "Westmere"),
        (r"sandybridge(?:-.*)?", "Sandy Bridge"),
        (r"ivybridge(?:-.*)?", "Ivy Bridge"),
        (r"haswell(?:-.*)?", "Haswell"),
        (r"broadwell(?:-.*)?", "Broadwell"),
        (r"skylake-server(?:-.*)?", "Skylake"),
        (r"cascadelake-server(?:-.*)?", "Cascade Lake"),
        (r"cooperlake(?:-.*)?", "Cooper Lake"),
        (r"icelake-server(?:-.*)?", "Ice Lake"),
        (r"sapphirerapids(?:-.*)?", "Sapphire Rapids"),
        (r"graniterapids(?:-.*)?", "Granite Rapids"),
        (r"sierraforest(?:-.*)?", "Sierra Forest"),
        (r"amd epyc-(?:v\d|ibpb)", "Naples"),
        (r"amd epyc-rome(?:-.*)?", "Rome"),
        (r"amd epyc-milan(?:-.*)?", "Milan"),
        (r"amd epyc-genoa(?:-.*)?", "Genoa"),
        (r"amd epyc-turin(?:-.*)?", "Turin"),
    )
)
"""Generations by patterns for the lower-case name. The first match counts."""


def generation(cpu: str) -> str | None:
    """Return the generation of a server CPU by its model number, such as `Ice Lake` or `Milan`, or None if unknown."""
    plain = name(cpu).casefold()
    return next((generation for pattern, generation in _GENERATIONS if pattern.fullmatch(plain)), None)
