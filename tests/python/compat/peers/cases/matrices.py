"""Linear algebra and Fourier transforms."""

import torch
from recording import add, function, x

TABLE = {
    "linalg.solve": (
        lambda a, b: [
            torch.linalg.solve(a + 5 * torch.eye(4), b),
            torch.linalg.inv(a + 5 * torch.eye(4)),
            torch.linalg.det(a),
            torch.linalg.slogdet(a)[1],
            torch.linalg.matrix_power(a, 3),
            torch.linalg.matrix_exp(a),
            torch.linalg.pinv(a),
            a.trace(),
            torch.logdet(a @ a.T),
        ],
        x(4, 4),
        x(4, 2),
    ),
    "linalg.factors": (
        lambda a: [
            torch.linalg.cholesky(a @ a.T + torch.eye(4)),
            torch.linalg.eigvalsh(a + a.T),
            torch.linalg.svdvals(a),
            torch.linalg.qr(a)[1].abs(),
            torch.linalg.lu(a),
            torch.linalg.eigh(a + a.T)[1].abs(),
        ],
        x(4, 4),
    ),
    "linalg.norms": (
        lambda a: [
            torch.linalg.norm(a),
            torch.linalg.norm(a, 1),
            torch.linalg.norm(a, "nuc"),
            torch.linalg.vector_norm(a, 3, 0),
            torch.linalg.matrix_norm(a, 2),
            torch.linalg.cond(a),
            torch.linalg.matrix_rank(a),
            torch.linalg.norm(a, -float("inf")),
        ],
        x(4, 4),
    ),
    "linalg.lstsq": (lambda a, b: torch.linalg.lstsq(a, b).solution, x(5, 3), x(5, 2)),
    "linalg.more": (
        lambda a, b: [
            torch.linalg.cross(a, b),
            torch.linalg.vecdot(a, b),
            torch.linalg.multi_dot([a, b.T, a]),
            torch.linalg.vander(a[0]),
            torch.cholesky_solve(a[:2].T, torch.eye(3)),
            torch.linalg.solve_triangular(torch.eye(3) + a.triu()[:3], b[:3], upper=True),
        ],
        x(3, 3),
        x(3, 3),
    ),
    "fft": (
        lambda a: [
            torch.fft.fft(a),
            torch.fft.rfft(a, 7),
            torch.fft.irfft(torch.fft.rfft(a)),
            torch.fft.fft2(a, norm="ortho"),
            torch.fft.ifft(a, dim=0),
            torch.fft.hfft(torch.complex(a, a)),
            torch.fft.fftn(a, norm="forward"),
            torch.fft.fftshift(a),
            torch.fft.ifftshift(a, 1),
            torch.fft.ihfft(a),
            torch.fft.rfftn(a),
        ],
        x(4, 6),
    ),
    "fft.freq": (lambda: [torch.fft.fftfreq(5, 0.5), torch.fft.rfftfreq(6)],),
    "stft": (
        lambda a: [
            torch.stft(a, 8, 4, window=torch.hann_window(8), return_complex=True),
            torch.istft(
                torch.stft(a, 8, 4, window=torch.hann_window(8), return_complex=True), 8, 4, window=torch.hann_window(8)
            ),
        ],
        x(32),
    ),
}
for name, (ask, *inputs) in TABLE.items():
    add(f"fn.{name}", function(ask, *inputs))
