"""A holder swaps between two instances of equal structure; both were seen, so nothing should be compiled again."""

import jax.numpy as jnp

WANT_COMPILES = 1


class Player:
    def __init__(self, strength):
        self.strength = jnp.array(strength)
        self.score = jnp.array(0.0)

    def play(self, luck):
        self.score = self.score + self.strength * luck
        return self.score


class Match:
    def __init__(self, home, away):
        self.home, self.away = home, away

    def turn(self, luck):
        return self.home.play(luck) - self.away.play(1.0 - luck)


def program(jit):
    a, b, c = Player(1.0), Player(2.0), Player(50.0)
    match = Match(a, b)
    turn = jit(match.turn)
    seen = [float(turn(0.5))]
    match.home, match.away = match.away, match.home
    seen.append(float(turn(0.25)))
    match.home = c
    seen.append(float(turn(0.25)))
    return seen, [float(p.score) for p in (a, b, c)]
