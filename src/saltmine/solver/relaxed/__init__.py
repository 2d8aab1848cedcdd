"""The relaxed problem on [0, 1]: objective, binary penalty, and the descent methods that minimise their sum."""
