"""The paper of a run: claims from the ledger, prose from templates, one chart grammar; and the audit of any such paper."""
