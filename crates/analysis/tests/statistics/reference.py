"""Makes reference.json: what SciPy and lifelines make of the inputs in it.

Needs `pip install scipy lifelines`. The versions that made the file are in it.
"""

import json
import pathlib
import warnings

import lifelines
import numpy as np
import scipy
from scipy import stats

warnings.simplefilter("ignore")
random = np.random.default_rng(20)


def values(array):
    return [float(f"{x:.6g}") for x in array]


def signed_rank(name, differences):
    d = np.array(differences)
    nonzero = d[d != 0]
    ties = len(set(np.abs(nonzero))) < len(nonzero)
    exact = len(nonzero) <= 50 and not ties
    result = stats.wilcoxon(
        d, zero_method="wilcox", correction=not exact, method="exact" if exact else "asymptotic"
    )
    ranks = stats.rankdata(np.abs(nonzero))
    return {
        "name": name,
        "differences": differences,
        "w_plus": float(ranks[nonzero > 0].sum()),
        "p": float(result.pvalue),
        "exact": exact,
    }


def bca(name, blocks):
    result = stats.bootstrap(
        (np.array(blocks),), np.mean, n_resamples=1_000_000, batch=20_000, method="BCa",
        vectorized=True, random_state=np.random.default_rng(1),
    )
    interval = result.confidence_interval
    return {"name": name, "blocks": blocks, "low": float(interval.low), "high": float(interval.high)}


def survival(name, durations, happened):
    fitter = lifelines.KaplanMeierFitter(alpha=0.05).fit(durations, happened)
    table = fitter.survival_function_["KM_estimate"]
    band = fitter.confidence_interval_survival_function_
    number = lambda x: None if not np.isfinite(x) else float(x)
    ends = lifelines.utils.median_survival_times(band).iloc[0]
    rows = [
        {"x": float(x), "y": float(y), "low": number(low), "high": number(high)}
        for (x, y), (_, (low, high)) in zip(table.items(), band.iterrows())
        if x in set(np.array(durations)[np.array(happened, dtype=bool)])
    ]
    return {
        "name": name,
        "durations": durations,
        "happened": happened,
        "rows": rows,
        "median": number(fitter.median_survival_time_),
        "median_low": number(ends.iloc[0]),
        "median_high": number(ends.iloc[1]),
    }


def distance(name, a, b):
    exact = stats.ks_2samp(a, b, method="exact")
    return {"name": name, "a": a, "b": b, "distance": float(exact.statistic), "p": float(exact.pvalue)}


def proportion(successes, trials):
    interval = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return {"successes": successes, "trials": trials, "low": float(interval.low), "high": float(interval.high)}


# Hollander and Wolfe, Nonparametric Statistical Methods (1973), p. 29: depression, before - after.
before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
depression = [round(b - a, 3) for b, a in zip(before, after)]
# Freireich et al., Blood 21 (1963): weeks of remission under 6-mercaptopurine.
weeks = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
relapsed = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]

lognormal = values(random.lognormal(0.0, 1.0, 100))
delays = values(random.lognormal(0.0, 0.6, 40))
ended = [min(x, 2.0) for x in delays]

reference = {
    "made_by": {"scipy": scipy.__version__, "lifelines": lifelines.__version__, "numpy": np.__version__},
    "signed_rank": [
        signed_rank("depression (Hollander and Wolfe)", depression),
        signed_rank("normal 20", values(random.normal(0.4, 1.0, 20))),
        signed_rank("normal 50", values(random.normal(0.2, 1.0, 50))),
        signed_rank("normal 100", values(random.normal(0.2, 1.0, 100))),
        signed_rank("shifted far, 100", values(random.normal(3.0, 1.0, 100))),
        signed_rank("ties and zeros", [float(x) for x in random.integers(-3, 6, 40)]),
        signed_rank("all tied", [1.0] * 30),
    ],
    "bca": [
        bca("normal 30", values(random.normal(1.0, 2.0, 30))),
        bca("lognormal 100", lognormal),
        bca("exponential 15", values(random.exponential(1.0, 15))),
        bca("few steps", [float(x) for x in random.integers(0, 3, 30)]),
    ],
    "survival": [
        survival("remission (Freireich)", [float(w) for w in weeks], relapsed),
        survival("delays cut at 2 s", ended, [int(x < 2.0) for x in delays]),
        survival("nothing censored", values(random.exponential(1.0, 12)), [1] * 12),
    ],
    "kolmogorov_smirnov": [
        distance("30 and 40", values(random.normal(0, 1, 30)), values(random.normal(0.6, 1.2, 40))),
        distance("far apart", values(random.normal(0, 1, 50)), values(random.normal(2, 1, 60))),
        distance("ties", [float(x) for x in random.integers(0, 6, 25)], [float(x) for x in random.integers(1, 7, 25)]),
    ],
    "proportion": [proportion(*of) for of in [(0, 20), (20, 20), (114, 120), (3, 30), (500, 1000)]],
}

file = pathlib.Path(__file__).with_name("reference.json")
file.write_text(json.dumps(reference, indent=1) + "\n")
