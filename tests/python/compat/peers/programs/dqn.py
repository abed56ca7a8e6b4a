"""Deep Q-learning with a replay buffer, a target network that follows slowly, and an exploration rate that falls."""

import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from fixing import fix

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class ReplayMemory:
    def __init__(self, capacity, seed):
        self.memory = deque(maxlen=capacity)
        self.random = random.Random(seed)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return self.random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class Walk:
    """Five places in a row; the last one ends an episode with a reward."""

    def reset(self):
        self.place = 1
        return [self.place / 4.0, 1.0 - self.place / 4.0]

    def step(self, action):
        self.place = max(0, self.place + (1 if action == 1 else -1))
        done = self.place in (0, 4)
        return [self.place / 4.0, 1.0 - self.place / 4.0], float(self.place == 4) - 0.1, done


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.value = nn.Linear(16, 1)
        self.advantage = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        advantage = self.advantage(x)
        return self.value(x) + advantage - advantage.mean(dim=1, keepdim=True)


def main():
    chance = random.Random(4)
    device = torch.device("cpu")
    policy_net, target_net = fix(DQN(2, 2)).to(device), DQN(2, 2).to(device)
    target_net.load_state_dict(policy_net.state_dict())
    target_net.eval()
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory, env, steps_done, seen = ReplayMemory(60, 5), Walk(), 0, []
    for _episode in range(14):
        state = torch.tensor(env.reset(), dtype=torch.float32, device=device).unsqueeze(0)
        for _ in range(10):
            threshold = 0.05 + 0.85 * math.exp(-1.0 * steps_done / 30)
            steps_done += 1
            if chance.random() > threshold:
                with torch.no_grad():
                    action = policy_net(state).max(1).indices.view(1, 1)
            else:
                action = torch.tensor([[chance.randrange(2)]], device=device, dtype=torch.long)
            observation, reward, done = env.step(action.item())
            reward = torch.tensor([reward], device=device)
            next_state = None if done else torch.tensor(observation, dtype=torch.float32, device=device).unsqueeze(0)
            memory.push(state, action, next_state, reward)
            state = next_state
            if len(memory) >= 16:
                batch = Transition(*zip(*memory.sample(16)))
                mask = torch.tensor(tuple(s is not None for s in batch.next_state), device=device, dtype=torch.bool)
                non_final = torch.cat([s for s in batch.next_state if s is not None])
                values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
                next_values = torch.zeros(16, device=device)
                with torch.no_grad():
                    next_values[mask] = target_net(non_final).max(1).values
                expected = (next_values * 0.9) + torch.cat(batch.reward)
                loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
                for param in policy_net.parameters():
                    param.grad.data.clamp_(-1, 1)
                optimizer.step()
                seen.append(loss.item())
            target, policy = target_net.state_dict(), policy_net.state_dict()
            for key in policy:
                target[key] = policy[key] * 0.05 + target[key] * (1 - 0.05)
            target_net.load_state_dict(target)
            if done:
                break
    return [*seen, *(p.abs().sum().item() for p in target_net.parameters())]


if __name__ == "__main__":
    print(main())
