"""The five papers: where each was published, and every figure and table in it; of those not made again, the reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Item:
    """A figure or table of a paper: the part of our study that makes it again, or why there is none."""

    name: str
    shows: str
    part: str = ""
    why_not: str = ""


@dataclass(frozen=True)
class Paper:
    authors: str
    title: str
    published: str
    doi: str
    asks: str  # in one sentence
    items: tuple[Item, ...]


def _again(name: str, shows: str, part: str = "") -> Item:
    return Item(name, shows, part=part or name)


PROPER_ANONYMIZATION = Paper(
    "David Sánchez, Sergio Martínez and Josep Domingo-Ferrer",
    "How to Avoid Reidentification with Proper Anonymization. Comment on “Unique in the shopping mall: on the "
    "reidentifiability of credit card metadata”, Supplementary Materials",
    "Science 351(6279), p. 1274, 18 March 2016; arXiv:1511.05957",
    "10.1126/science.aad9295",
    "Does anonymization fail, or only when it is done badly? k-anonymity and t-closeness against coarsening and safe "
    "harbor, on the discharges of all Californian hospitals.",
    (
        _again("Figure S1", "Records and masked records by race."),
        _again("Figure S2", "Records and masked records by age."),
        _again("Figure S3", "Unique records, by what an intruder knows."),
        _again("Figure S4", "Risk, attribute disclosure and information loss of each masking."),
        _again("Figure S5", "Unique records left by coarsening."),
        _again("Figure S6", "Information lost by coarsening."),
        _again("Figure S7", "k-anonymity with and without t-closeness."),
        Item("Table S1", "The eleven attributes, described.", why_not="A description: nothing in it can be measured."),
        Item("Table S2", "Six example records.", why_not="An example: its records are the input of Table S6."),
        Item(
            "Table S3",
            "The order in which safe harbor masks attributes.",
            why_not="A rule, not a result: our safe harbor follows it. What it achieves stands under Figure S3.",
        ),
        _again("Table S4", "Correlations of the values that were not masked."),
        _again("Table S5", "Correlations after masked values were drawn anew."),
        _again("Table S6", "The six example records, 3-anonymous."),
        _again("Table S7", "Intervals of age at resolution 16."),
        _again("Table S8", "Intervals of age at resolution 8."),
        _again("Table S9", "The t that comes with each k."),
        Item(
            "Table S10",
            "Files that the authors offered for download.",
            why_not="A list of files, which cannot be had any more: that is why the table here is generated.",
        ),
    ),
)

BIG_DATA = Paper(
    "Josep Domingo-Ferrer and Jordi Soria-Comas",
    "Anonymization in the Time of Big Data",
    "Universitat Rovira i Virgili, Tarragona",
    "",
    "Is k-anonymity of use where every attribute may identify and many releases overlap? The paper reasons, without "
    "figures, tables or experiments, and leaves a quantitative analysis to later work: here it is.",
    (),
)

K_MAP = Paper(
    "Khaled El Emam and Fida Kamal Dankar",
    "Protecting Privacy Using k-Anonymity",
    "Journal of the American Medical Informatics Association 15(5), pp. 627-637, 2008",
    "10.1197/jamia.M2716",
    "How much does k-anonymity over-protect samples against an intruder who does not know who is in them, and which "
    "criterion comes nearest to the risk that was accepted?",
    (
        Item(
            "Table 1",
            "Known re-identifications (AOL, Netflix, the governor of Massachusetts and others).",
            why_not="Reports of cases from the literature: nothing to compute.",
        ),
        _again("Figure 1", "Fourteen people, 2-anonymized, against a database of 31.", "Figures 1 and 2"),
        _again("Figure 2", "The same people by k-map.", "Figures 1 and 2"),
        _again("Figure 3", "Actual risk by sampling fraction."),
        _again("Figure 4", "Information lost by sampling fraction."),
        _again("Figure 5", "Suppressed records by sampling fraction."),
        Item(
            "Appendix A",
            "Estimators behind the criteria D2 to D4 (online supplement).",
            why_not="The supplement cannot be had; our reading of the criteria is told and tested with Figures 3 to 5.",
        ),
        Item(
            "Appendix B",
            "Figures 3 to 5 for k = 10 and 15 (online supplement).",
            why_not="The supplement cannot be had. Ours for k = 10 and 15 are drawn with Figures 3 to 5; the paper "
            "says of its own that they support those for k = 5.",
        ),
    ),
)

PURCHASES = Paper(
    "Satoshi Ito, Reo Harada and Hiroaki Kikuchi",
    "De-identification for Transaction Data Secure against Re-identification Risk Based on Payment Records",
    "Meiji University, Tokyo; on the data of the Privacy Workshop Cup 2016",
    "",
    "Customers are found again by the set of goods that they bought: how many dummy purchases hide them, and which "
    "clusters need the fewest?",
    (
        Item(
            "Figure 1",
            "How dummies make three customers alike.",
            why_not="A drawing of the method with five records, without a result.",
        ),
        Item(
            "Figure 2",
            "How TF-IDF clusters four customers.",
            why_not="A drawing of the method with four customers, without a result.",
        ),
        _again("Figure 3", "Sizes of clusters by Method 1.", "Figures 3 and 4"),
        _again("Figure 4", "Sizes of clusters by Method 2.", "Figures 3 and 4"),
        _again("Figure 5", "Dummies by number of clusters."),
        _again("Figure 6", "The best number of clusters."),
        _again("Table 1", "Correlations of dummies, utility and re-identification."),
        _again("Table 2", "Dummies, similarity and re-identification by c and s_min."),
    ),
)

RISK_UTILITY = Paper(
    "Josep Domingo-Ferrer, Sara Ricci and Jordi Soria-Comas",
    "Empirical Comparison of Anonymization Methods Regarding Their Risk-Utility Trade-Off",
    "Universitat Rovira i Virgili, Tarragona",
    "",
    "Brought to the same risk, which of four methods loses least?",
    (
        _again("Figure 1", "Risk of the four methods at each parameter."),
        _again("Table 1", "Earth mover's distance at equal risk."),
    ),
)
