"""Rows of images read by a recurrent network, with packed sequences of several lengths beside it."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.rnn = nn.LSTM(input_size=8, hidden_size=16, batch_first=True)
        self.batchnorm = nn.BatchNorm1d(16)
        self.dropout1 = nn.Dropout2d(0.1)
        self.fc1 = nn.Linear(16, 2)

    def forward(self, input):
        input = input.reshape(-1, 8, 8)
        output, hidden = self.rnn(input)
        output = output[:, -1, :]
        output = self.batchnorm(output)
        output = F.relu(self.dropout1(output))
        return F.log_softmax(self.fc1(output), dim=1)


torch.manual_seed(1)
labels = torch.arange(64) % 2
images = torch.randn(64, 1, 8, 8) + labels.view(-1, 1, 1, 1) * 0.8
model = Net()
optimizer = optim.Adadelta(model.parameters(), lr=0.3)
for _ in range(40):
    optimizer.zero_grad()
    loss = F.nll_loss(model(images), labels)
    loss.backward()
    optimizer.step()
model.eval()
with torch.no_grad():
    pred = model(images).data.max(1, keepdim=True)[1]
    correct = pred.eq(labels.data.view_as(pred)).long().cpu().sum()
assert correct.item() > 48, correct
print("Accuracy: {}/{} ({:.0f}%)".format(correct, len(labels), 100.0 * correct / len(labels)))

sequences = [torch.randn(n, 3) for n in (5, 3, 2)]
lengths = torch.tensor([len(s) for s in sequences])
packed = pack_padded_sequence(pad_sequence(sequences, batch_first=True), lengths, batch_first=True)
gru = nn.GRU(3, 4, batch_first=True, bidirectional=True)
output, hidden = gru(packed)
padded, sizes = pad_packed_sequence(output, batch_first=True)
assert padded.shape == (3, 5, 8) and torch.equal(sizes, lengths) and hidden.shape == (2, 3, 4)
alone, _ = gru(sequences[2].unsqueeze(0))
torch.testing.assert_close(padded[2, :2], alone[0])
