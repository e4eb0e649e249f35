"""Names of CPUs as sources write them, and generations by model number."""

import pytest

from hypertwin.published import names, table

WRITTEN = [
    ("Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", "Intel Xeon E5-2650 v4", "Broadwell"),
    ("AMD EPYC 7763 64-Core Processor                ", "AMD EPYC 7763", "Milan"),
    ("INTEL(R) XEON(R) PLATINUM 8568Y+", "Intel Xeon Platinum 8568Y+", "Emerald Rapids"),
    ("Intel(R) Xeon(R) 6787P", "Intel Xeon 6787P", "Granite Rapids"),
    ("Intel(R) Xeon(R) CPU  E5-2680 0 @ 2.70GHz", "Intel Xeon E5-2680", "Sandy Bridge"),
    ("Intel(R) Xeon(R) CPU           X5675  @ 3.07GHz", "Intel Xeon X5675", "Westmere"),
    ("Intel(R) Xeon(R) CPU           X5690  @ 3.47GHz", "Intel Xeon X5690", "Westmere"),
    ("Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz", "Intel Xeon E5-2667 v3", "Haswell"),
    ("Intel(R) Xeon(R) CPU E5-2690 0 @ 2.90GHz", "Intel Xeon E5-2690", "Sandy Bridge"),
    ("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "Intel Xeon E5-2690 v4", "Broadwell"),
    ("Intel(R) Xeon(R) CPU E5-2697 v2 @ 2.70GHz", "Intel Xeon E5-2697 v2", "Ivy Bridge"),
    ("Intel(R) Xeon(R) Gold 5218 CPU @ 2.30GHz", "Intel Xeon Gold 5218", "Cascade Lake"),
    ("Intel(R) Xeon(R) CPU E7- 2870  @ 2.40GHz", "Intel Xeon E7-2870", "Westmere"),
    ("Intel(R) Xeon(R) CPU E5520  @ 2.27GHz", "Intel Xeon E5520", "Nehalem"),
    ("Intel(R) Xeon(R) CPU Max 9480", "Intel Xeon Max 9480", "Sapphire Rapids"),
    ("Intel(R) Xeon(R) 6780E", "Intel Xeon 6780E", "Sierra Forest"),
    ("Intel(R) Xeon(R) Platinum 8380HL CPU @ 2.90GHz", "Intel Xeon Platinum 8380HL", "Cooper Lake"),
    ("Intel(R) Xeon(R) D-2146NT CPU @ 2.30GHz", "Intel Xeon D-2146NT", "Skylake"),
    ("Intel Xeon E5-2698 V4", "Intel Xeon E5-2698 v4", "Broadwell"),
    ("Intel Xeon E5-2660V2", "Intel Xeon E5-2660 v2", "Ivy Bridge"),
    ("Intel Xeon E5-2640 2.5 GHz (Intel Turbo Boost Technology up to 3.00 GHz)", "Intel Xeon E5-2640", "Sandy Bridge"),
    ("AMD EPYC 7543P 32-Core Processor", "AMD EPYC 7543P", "Milan"),
    ("AMD EPYC 7H12 64-Core Processor", "AMD EPYC 7H12", "Rome"),
    ("AMD EPYC 72F3 8-Core Processor", "AMD EPYC 72F3", "Milan"),
    ("AMD EPYC 7351 16-Core Processor", "AMD EPYC 7351", "Naples"),
    ("AMD EPYC 9684X 96-Core Processor", "AMD EPYC 9684X", "Genoa"),
    ("AMD EPYC 9575F 64-Core Processor", "AMD EPYC 9575F", "Turin"),
    ("AMD EPYC 7601 2.20 GHz, Dell SKU [338-BNCG]", "AMD EPYC 7601", "Naples"),
    ("AMD Opteron(tm) Processor 6282 SE", "AMD Opteron 6282SE", "Bulldozer"),
    ("2x Intel Xeon Gold 6338", "Intel Xeon Gold 6338", "Ice Lake"),
    ("gold 6548y+", "Intel Xeon Gold 6548Y+", "Emerald Rapids"),
    ("e5 2650 v3", "Intel Xeon E5-2650 v3", "Haswell"),
    ("EPYC 9554", "AMD EPYC 9554", "Genoa"),
    ("Intel Xeon 6 6737P", "Intel Xeon 6737P", "Granite Rapids"),
    ("Skylake-Server-IBRS", "Skylake-Server-IBRS", "Skylake"),
    ("Cascadelake-Server", "Cascadelake-Server", "Cascade Lake"),
    ("EPYC-Rome-v2", "AMD EPYC-ROME-V2", "Rome"),
    ("EPYC-IBPB", "AMD EPYC-IBPB", "Naples"),
    ("Skylake-Client", "Skylake-Client", None),
    ("EPYC", "AMD EPYC", None),
    ("Genuine Intel(R) CPU 0000%@ 2.20GHz", "Genuine Intel 0000%", None),
    ("Six-Core AMD Opteron(tm) Processor 8431", "AMD Opteron 8431", None),
    ("Intel Xeon Processor (Skylake, IBRS)", "Intel Xeon", None),
    ("Common KVM processor", "Common KVM", None),
    ("\x07\n", "", None),
    ("", "", None),
]


@pytest.mark.parametrize(("text", "name", "generation"), WRITTEN)
def test_a_name_has_one_form_and_a_generation(text: str, name: str, generation: str | None) -> None:
    assert names.name(text) == name
    assert names.generation(text) == generation
    assert names.name(name) == name


def test_a_long_string_is_cut_and_keeps_no_control_characters() -> None:
    name = names.name("Intel\x1b\n" + "x9 " * 1_000_000)
    assert len(name) <= names.MAX_LENGTH
    assert name.isprintable()


def test_the_tier_is_no_part_of_the_key() -> None:
    assert names.key("Intel Xeon 8480+") == names.key("Intel(R) Xeon(R) Platinum 8480+")
    assert names.key("Intel Xeon E5-2680") != names.key("Intel Xeon E5-2680 v2")


@pytest.mark.parametrize(
    ("cpu", "plain"),
    [
        ("AMD EPYC 7543P 32-Core Processor", "AMD EPYC 7543"),
        ("AMD EPYC 7543", None),
        ("Intel Xeon 6787P", None),
        ("Intel Xeon Platinum 8358P", None),
    ],
)
def test_only_an_epyc_has_a_variant_for_one_socket(cpu: str, plain: str | None) -> None:
    assert names.without_p(cpu) == plain


def test_every_published_cpu_has_a_name_of_its_own_and_a_generation() -> None:
    rates = table.rates().values()
    assert len(rates) == 389 + 139 - 4  # E5-2620, E5-2620 v2, E5-2670 and E5-2670 v2 are in both suites
    without = {rate.cpu for rate in rates if names.generation(rate.cpu) is None}
    assert without == {"Huawei Kunpeng 920 7260", "Ampere Altra Q80-33"}


@pytest.mark.parametrize(
    ("cpu", "year"),
    [
        ("Intel Xeon X5675", 2011),  # the vendor's
        ("Intel Xeon E5-2699A v4", 2015),  # the vendor has none: the first of Broadwell
        ("AMD EPYC 7763", 2021),  # the first results of its generation
        ("AMD EPYC 9355", 2024),
        ("AMD EPYC 7999", None),
        ("Common KVM processor", None),
    ],
)
def test_a_cpu_is_of_the_year_of_its_vendor_or_generation(cpu: str, year: int | None) -> None:
    assert table.year(cpu) == year
