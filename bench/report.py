"""The figures as a Markdown table."""

import statistics

from servers import BASE


def table(servers, tools):
    """Medians over the rounds, and ratios against bare hyper."""
    def median(server, tool, key):
        return statistics.median(figures[tool][key] for figures in server.figures)

    base = next((server for server in servers if server.name == BASE), None)
    heads = ["server"]
    for tool in tools:
        heads += [f"{tool} requests/s", f"{tool} CPU µs/request", f"{tool} p99 ms"]
    heads.append("resident MB")
    if base:
        heads += [f"{tool} {what} ÷ {BASE}" for tool in tools for what in ("requests/s", "CPU")]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    for server in servers:
        row = [server.name]
        for tool in tools:
            row.append(f"{median(server, tool, 'rate'):,.0f}")
            row += [f"{median(server, tool, 'cpu'):.1f}", f"{median(server, tool, 'p99'):.2f}"]
        row.append(f"{statistics.median(figures['resident'] for figures in server.figures) / 1e6:.1f}")
        if base:
            for tool in tools:
                for key in ("rate", "cpu"):
                    row.append(f"{median(server, tool, key) / median(base, tool, key):.2f}")
        lines.append(row)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
