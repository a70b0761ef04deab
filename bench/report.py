"""The figures as Markdown tables or as JSON: medians over the rounds, ratios, and what of rhaid's budgets is kept."""

import json
import statistics

from servers import BASE

NGINX = "nginx + Lua on MariaDB"
# Of what, at most how many times, of what other; all in CPU time of the server for each request.
BUDGETS = {
    "json_api": [("rhaid", 1.25, BASE), ("rhaid", 0.6, "h2o + mruby"), ("rhaid", 0.95, "nginx + Lua")],
    "projects": [("rhaid on SQLite", 0.45, NGINX), ("rhaid on MariaDB", 0.95, NGINX)],
    "images": [("rhaid on SQLite", 0.1, "Sinatra + Thin on MariaDB")],
}


def medians(servers, tools):
    """Server by server the median of each figure: `resident` in bytes, and those of each load generator."""
    def median(rounds):
        return {key: round(statistics.median(it[key] for it in rounds), 3) for key in rounds[0]}

    return {
        server.name: {tool: median([figures[tool] for figures in server.figures]) for tool in tools}
        | {"resident": statistics.median(figures["resident"] for figures in server.figures)}
        for server in servers
    }


def table(workload, figures, tools):
    columns = [("requests/s", "rate", ",.0f"), ("CPU µs/request", "cpu", ".1f"), ("p50 ms", "p50", ".2f"),
               ("p99 ms", "p99", ".2f")]
    ratios = [("requests/s", "rate"), ("CPU", "cpu")]
    if workload.has_database:
        columns.insert(2, ("CPU with the database's", "all", ".1f"))
        # Next to what a database costs, how often a reply without one could be given says nothing.
        del ratios[0]
    base = figures.get(BASE)
    heads = ["server"] + [f"{tool} {head}" for tool in tools for head, _, _ in columns] + ["resident MB"]
    if base:
        heads += [f"{tool} {what} ÷ {BASE}" for tool in tools for what, _ in ratios]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for name, of in figures.items():
        row = [name] + [format(of[tool][key], how) for tool in tools for _, key, how in columns]
        row.append(f"{of['resident'] / 1e6:.1f}")
        if base:
            row += [f"{of[tool][key] / base[tool][key]:.2f}" for tool in tools for _, key in ratios]
        lines.append(row)
    return markdown(lines)


def budgets(workload, figures, tool):
    """The budgets that both servers of are here: the measured ratio, and the one allowed."""
    return [
        {"server": name, "peer": peer, "ratio": round(ratio, 3), "at most": most, "kept": ratio <= most}
        for name, most, peer in BUDGETS.get(workload.name, ()) if name in figures and peer in figures
        for ratio in [figures[name][tool]["cpu"] / figures[peer][tool]["cpu"]]
    ]


def verdict(budgets):
    lines = [["budget, in CPU time of the servers alone", "measured", "at most", ""], ["---", "---:", "---:", "---"]]
    for it in budgets:
        kept = "pass" if it["kept"] else "FAIL"
        lines.append([f"{it['server']} ÷ {it['peer']}", f"{it['ratio']:.2f}", f"{it['at most']:.2f}", kept])
    return markdown(lines)


def markdown(lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show(reports, conditions, as_json):
    """`reports` are a workload, its servers that were measured, and the names of the load generators."""
    results = []
    for workload, servers, tools in reports:
        figures = medians(servers, tools)
        kept = budgets(workload, figures, tools[0])
        results.append({"workload": workload.name, "servers": figures, "budgets": kept})
        if not as_json:
            print(f"{workload.path.split('?')[0]}, {conditions}, medians\n\n{table(workload, figures, tools)}\n")
            if kept:
                print(f"{verdict(kept)}\n")
    if as_json:
        print(json.dumps({"conditions": conditions, "workloads": results}, indent=2))
