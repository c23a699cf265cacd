"""Steps shared by the readers of labels: sentences, declarations, concessions, rewordings, quotations and declining."""
