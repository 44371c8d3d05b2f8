"""What a language model learned, stage by stage: from the records of trainings, and from ledgers that pass their audit."""
