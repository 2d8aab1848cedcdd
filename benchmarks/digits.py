"""Does the class whose patterns encode a row in the fewest nats name the digit? Beside it, BernoulliNB.

python -m benchmarks.digits
"""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import BernoulliNB

from saltmine import CSalt


def main() -> None:
    X, y = load_digits(return_X_y=True)
    chosen = (y == 3) | (y == 8)
    X, y = X[chosen] > 7, y[chosen]
    folds = StratifiedKFold(5, shuffle=True, random_state=5000)
    for name, model in (("CSalt", CSalt(random_state=5000)), ("BernoulliNB", BernoulliNB())):
        scores = cross_val_score(model, X, y, cv=folds)
        print(f"digits 3 against 8, five-fold accuracy: {name:12s} {scores.mean():.3f} +- {scores.std():.3f}")


if __name__ == "__main__":
    main()
