"""Steps that readers of labels share: sentences, declarations, concessions, rewordings, quotations and declining."""
