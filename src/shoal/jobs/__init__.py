"""Jobs: what a user can ask for, one typed object a request; see `shoal.jobs.job.Job` and docs/jobs.md."""

from shoal.events import Event
from shoal.jobs.anonymize import Anonymize, Split
from shoal.jobs.attack import Attack
from shoal.jobs.audit import Audit, AuditLedger, RecordRelease
from shoal.jobs.check import Check
from shoal.jobs.check_transactions import CheckTransactions
from shoal.jobs.compare import Compare
from shoal.jobs.demo import Demo
from shoal.jobs.hierarchy import BuildHierarchy, CheckHierarchy, ShowHierarchy
from shoal.jobs.job import Job
from shoal.jobs.layout import Layout
from shoal.jobs.ledger import LedgerFile
from shoal.jobs.measure import Risk, Utility
from shoal.jobs.profile import Profile
from shoal.jobs.pseudonym import MapPseudonyms, RevealPseudonyms, RotateKey
from shoal.jobs.run import Run
from shoal.jobs.sample import Regenerate, Sample
from shoal.jobs.scenario import KPrime, Scenario
from shoal.jobs.transactions import (
    AnonymizeBaskets,
    AnonymizeTransactions,
    AttackTransactions,
    AuditTransactions,
    Columns,
    TransactionsRisk,
    TransactionsUtility,
)

__all__ = [
    "Anonymize",
    "AnonymizeBaskets",
    "AnonymizeTransactions",
    "Attack",
    "AttackTransactions",
    "Audit",
    "AuditLedger",
    "AuditTransactions",
    "BuildHierarchy",
    "Check",
    "CheckHierarchy",
    "CheckTransactions",
    "Columns",
    "Compare",
    "Demo",
    "Event",
    "Job",
    "KPrime",
    "Layout",
    "LedgerFile",
    "MapPseudonyms",
    "Profile",
    "RecordRelease",
    "Regenerate",
    "RevealPseudonyms",
    "Risk",
    "RotateKey",
    "Run",
    "Sample",
    "Scenario",
    "ShowHierarchy",
    "Split",
    "TransactionsRisk",
    "TransactionsUtility",
    "Utility",
]
