"""Learns to balance a pole on a cart by trial and error: a policy gradient, with a critic that says what to expect."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import lamella as lm
from lamella import distributions, nn, optim
from lamella.progress import progress

HERE = Path(__file__).resolve().parent
LONGEST = 500  # steps; nobody balances longer
SOLVED = 475.0  # steps on average


# 1. The world, in numpy: many carts at once, each pushed left or right fifty times in a second.


class CartPoles:
    """Carts on a track, each with a pole that stands on a joint.

    Source: Barto, Sutton and Anderson 1983, "Neuronlike adaptive elements that can solve difficult learning control
    problems"; the numbers are those that "CartPole" has had everywhere since.

    Attributes:
        state: Position and speed of each cart, angle and angular speed of its pole, ``(count, 4)``.
    """

    GRAVITY, CART, POLE, HALF_LENGTH, FORCE, SECONDS = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    WIDEST, STEEPEST = 2.4, np.radians(12)

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.state = rng.uniform(-0.05, 0.05, (count, 4))

    def push(self, right: np.ndarray) -> np.ndarray:
        """Moves all carts by one step, each pushed to the right or to the left. Returns which of them still balance."""
        _, speed, angle, spin = self.state.T
        force = np.where(right, self.FORCE, -self.FORCE)
        sin, cos = np.sin(angle), np.cos(angle)
        mass, arm = self.CART + self.POLE, self.POLE * self.HALF_LENGTH
        drive = (force + arm * spin**2 * sin) / mass
        spin_change = (self.GRAVITY * sin - cos * drive) / (self.HALF_LENGTH * (4 / 3 - self.POLE * cos**2 / mass))
        speed_change = drive - arm * spin_change * cos / mass
        self.state = self.state + self.SECONDS * np.stack([speed, speed_change, spin, spin_change], axis=1)
        return (np.abs(self.state[:, 0]) <= self.WIDEST) & (np.abs(self.state[:, 2]) <= self.STEEPEST)


# 2. An actor, which says how likely each push should be, and a critic, which says how long balancing will last.


class ActorCritic(nn.Module):
    """From states, ``(.., 4)``, to a distribution of pushes and the return that is expected."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 2))
        self.critic = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, 1))

    def policy(self, states: lm.Tensor) -> distributions.Categorical:
        """Returns the distribution of pushes: 0 is left, 1 is right."""
        return distributions.Categorical(logits=self.actor(states))

    def forward(self, states: lm.Tensor) -> tuple[distributions.Categorical, lm.Tensor]:
        return self.policy(states), lm.squeeze(self.critic(states), -1)


# 3. Episodes: carts are pushed as the actor likes, until their poles have fallen.


@lm.no_grad()
def play(model: ActorCritic, count: int, rng: np.random.Generator, best: bool = False) -> tuple[np.ndarray, ...]:
    """Plays episodes side by side.

    Args:
        model: says where to push.
        count: the number of episodes.
        rng: chooses where the carts start.
        best: True always takes the likelier push; otherwise pushes are drawn, so that something new is tried.

    Returns:
        States ``(steps, count, 4)``, pushes ``(steps, count)``, and which of these steps were balanced ones.
    """
    world = CartPoles(count, rng)
    balanced = np.ones(count, bool)
    states, pushes, alive = [], [], []
    while balanced.any() and len(states) < LONGEST:
        seen = lm.asarray(world.state.astype(np.float32))
        push = (model.actor(seen).argmax(axis=1) if best else model.policy(seen).sample()).numpy()
        states.append(seen.numpy())
        pushes.append(push)
        alive.append(balanced)
        balanced = balanced & world.push(push == 1)
    return np.stack(states), np.stack(pushes), np.stack(alive)


def returns(alive: np.ndarray, discount: float = 0.99) -> np.ndarray:
    """Returns, for each step, the sum of what is still to come, of which later steps count less."""
    found = np.zeros(alive.shape, np.float32)
    later = np.zeros(alive.shape[1], np.float32)
    for step in reversed(range(len(alive))):
        later = alive[step] * (1 + discount * later)
        found[step] = later
    return found


# 4. Learning: pushes that lasted longer than the critic expected become likelier, others less likely.


def learn(
    model: ActorCritic, optimizer: optim.Optimizer, states: np.ndarray, pushes: np.ndarray, alive: np.ndarray
) -> float:
    """Takes one step along the gradient of the expected return. Returns the policy's entropy.

    Source: Williams 1992, "Simple statistical gradient-following algorithms for connectionist reinforcement learning".
    """
    reached = lm.asarray(returns(alive)[alive])
    policy, expected = model(lm.asarray(states[alive]))
    surprise = (reached - expected).detach()
    advantage = (surprise - surprise.mean()) / (lm.std(surprise) + 1e-6)
    entropy = policy.entropy().mean()
    loss = -(policy.log_prob(lm.asarray(pushes[alive])) * advantage).mean()
    loss = loss + 1e-3 * lm.mse_loss(expected, reached) - 0.01 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return entropy.item()


# 5. Pictures.


def draw(history: list[np.ndarray], model: ActorCritic, path: Path) -> None:
    """Draws how long poles were balanced as learning went on; an episode; and what the actor does by angle and spin."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")
        return
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    curve, episode, policy = figure.subplots(1, 3)
    updates = range(1, len(history) + 1)
    curve.fill_between(updates, *np.percentile(history, [10, 90], axis=1), alpha=0.25, label="eight in ten episodes")
    curve.plot(updates, np.mean(history, axis=1), label="mean")
    curve.axhline(SOLVED, color="gray", linestyle=":", label="solved")
    curve.set(xlabel="update", title="steps balanced")
    curve.legend(loc="lower right")

    states, _, alive = play(model, 1, np.random.default_rng(1), best=True)
    states = states[alive]
    seconds = np.arange(len(states)) * CartPoles.SECONDS
    episode.plot(seconds, states[:, 0], label="position (m)")
    episode.plot(seconds, np.degrees(states[:, 2]), label="angle (degrees)")
    episode.set(xlabel="seconds", title="an episode")
    episode.legend()

    angle, spin = np.meshgrid(np.linspace(-0.2, 0.2, 101), np.linspace(-2, 2, 101))
    grid = np.stack([np.zeros_like(angle), np.zeros_like(angle), angle, spin], axis=-1).astype(np.float32)
    with lm.no_grad():
        right = model.policy(lm.asarray(grid)).probs[..., 1].numpy()
    shown = policy.imshow(
        right, origin="lower", extent=(-11.5, 11.5, -2, 2), aspect="auto", cmap="coolwarm", vmin=0, vmax=1
    )
    figure.colorbar(shown, ax=policy)
    policy.set(xlabel="angle (degrees)", ylabel="spin (rad/s)", title="probability of a push to the right")
    figure.savefig(path, dpi=100)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=150, help="steps of learning at most (default: 150)")
    parser.add_argument("--short", action="store_true", help="three updates, to see that it runs")
    parser.add_argument("--seed", type=int, default=0, help="of the start, the pushes and the carts (default: 0)")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    updates = 3 if options.short else options.updates
    if updates < 1:
        parser.error("--updates is at least 1")

    lm.seed(options.seed)
    rng = np.random.default_rng(options.seed)
    model = ActorCritic()
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    history: list[np.ndarray] = []
    began = time.perf_counter()
    bar = progress(range(1, updates + 1), description="learning", unit="update", file=sys.stdout)
    for update in bar:
        states, pushes, alive = play(model, 32, rng)
        entropy = learn(model, optimizer, states, pushes, alive)
        history.append(alive.sum(axis=0))
        bar.set(steps=history[-1].mean())
        if update == 1 or update % 10 == 0:
            bar.write(f"update {update:3}   steps balanced {history[-1].mean():6.1f}   entropy {entropy:.3f}")
        if np.mean(history[-5:]) >= SOLVED:
            break
    bar.close()
    balanced = play(model, 100, rng, best=True)[2].sum(axis=0)
    options.out.mkdir(parents=True, exist_ok=True)
    draw(history, model, options.out / "cart_pole.png")
    lm.io.save(model.state_dict(), options.out / "cart_pole.safetensors")
    print(f"{len(history)} updates in {time.perf_counter() - began:.1f} s; the pictures are in {options.out}")
    print(f"steps balanced in 100 new episodes: {balanced.mean():.1f} on average, {balanced.min()} at least")
    if not options.short and balanced.mean() < SOLVED:
        print(f"that is below {SOLVED:.0f}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
