"""The effects of a logged system's stages: reranker, rewriting, router, dates, entities, time and cost.

Each section is a function of a judged log. A section whose fields the log lacks says so in one sentence. Means are over
queries; intervals are by sign flips of clusters.
"""
