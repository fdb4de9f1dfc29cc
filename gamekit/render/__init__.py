"""Documents derived from findings: the plan, the site's pages, llms.txt and the JSON Schema."""
