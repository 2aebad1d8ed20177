"""Examples of every command, printed below its help. A test parses each line."""

from __future__ import annotations

LINES = """\
recommend CHECKOUT --current langchain:chunk_size=1000,chunk_overlap=200
recommend ./my-project --retriever bm25 --report page.html
recommend pypi:click==8.1.7 -c ast -c fixed --sizes 500,1000
recommend ./my-project --queries questions.jsonl --time-limit 10
eval -c ast -c fixed
eval -c ast --retriever bm25 --source FOLDER
eval -c fixed:max_nws=800 --protocol body --embedder st:BAAI/bge-base-en-v1.5
eval -c py:cutter:halves -m ndcg@10 -m lines@1500 --details
eval -c 'exec:node cut.js' --limit 20 --retriever bm25
run repoeval
run bench.yaml --out results
run bench.yaml --source FOLDER
compare -c fixed -c ast
compare ast fixed --details
compare -c ast -c chonkie --match-size fixed --baseline ast
compare latest @2 -m ndcg@10 --equivalence 0.02
compare -c fixed -c ast --protocol body --set exclusion=hidden
runs
runs --out other-results --json
runs --prune unfinished --dry-run
diff fixed ast --measure recall@10
diff @2 latest --limit 50
segments RUN --by repo --by is_method
segments ast fixed --facts facts.csv
gate RUN --config gates.yaml --junit gates.xml
gate latest --config gates.yaml --baseline fixed
gate chunking.toml --source .
verify latest --source FOLDER
verify RUN --details
verify RUN --allow py:cutter:halves
sweep -c fixed -c ast --sizes 500,1000,1500,3000,6000
sweep -c ast --retriever bm25
sweep -c ast:max_tokens=256 --sizes 128,256,512
report
report ast fixed -o report.html
data fetch
data fetch --source FOLDER --json
data build . pypi:click==8.1.7 -o packs/mine
cache info
cache verify --delete
cache delete minilm
list chunkers
list measures --json
explain ndcg@10
explain "lines found"
explain code-chunk
explain ast
"""
"""An example a line, without `repoeval-bench`."""
