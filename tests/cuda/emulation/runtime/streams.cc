#include "tests/cuda/emulation/runtime/streams.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "tests/cuda/emulation/runtime/memory.h"
#include "tests/cuda/emulation/runtime/settings.h"

/// Position in a stream's work: the number of pieces that have to be done.
struct CUevent_st {
  cudaStream_t stream = nullptr;
  std::uint64_t position = 0;
  bool recorded = false;
  /// The graph into which its stream was captured.
  cudaGraph_t graph = nullptr;
};

/// Work in the order in which it was captured, from whichever stream: one order of those that the events allow.
struct CUgraph_st {
  std::vector<std::function<cudaError_t()>> work;
  bool invalid = false;
};
struct CUgraphExec_st {
  std::vector<std::function<cudaError_t()>> work;
};

struct CUstream_st {
  int device = 0;
  bool blocking = true;
  std::deque<std::function<cudaError_t()>> queue;
  std::uint64_t queued = 0;
  std::uint64_t done = 0;
  bool running = false;
  cudaGraph_t graph = nullptr;  ///< into which its work is captured
};

namespace emulation {
namespace {

struct Streams {
  std::vector<std::unique_ptr<CUstream_st>> defaults;
  std::set<cudaStream_t> made;
  const pid_t process = getpid();

  static Streams& instance() {
    static auto* const streams = new Streams;
    return *streams;
  }

  Streams() {
    for (int device = 0; device < settings().devices; ++device) {
      defaults.push_back(std::make_unique<CUstream_st>());
      defaults.back()->device = device;
    }
  }
};

cudaStream_t resolved(cudaStream_t stream) {
  return stream ? stream : Streams::instance().defaults[static_cast<std::size_t>(current_device())].get();
}

/// Runs queued work until `position` pieces are done, or one waits for another process; returns true if they are done.
bool run_until(cudaStream_t stream, std::uint64_t position) {
  if (stream->running) return true;  // a stream that waits for itself
  stream->running = true;
  while (stream->done < position && !stream->queue.empty()) {
    if (sticky_error() == cudaSuccess) {
      const cudaError_t error = stream->queue.front()();
      if (error == cudaErrorNotReady) break;
      if (error != cudaSuccess) set_sticky_error(error);
    }
    stream->queue.pop_front();
    ++stream->done;
  }
  stream->running = false;
  return stream->done >= position;
}

/// Waits until `position` pieces are done.
void finish(cudaStream_t stream, std::uint64_t position) {
  while (!run_until(stream, position)) std::this_thread::sleep_for(std::chrono::microseconds(100));
}

/// True if `position` pieces are done; otherwise they go on, as a device's work does while the host asks.
bool is_done(cudaStream_t stream, std::uint64_t position) {
  if (stream->done >= position) return true;
  run_until(stream, position);
  return false;
}

/// Runs what a piece of work in `stream` waits for without an event.
void run_implied(cudaStream_t stream) {
  const cudaStream_t main = Streams::instance().defaults[static_cast<std::size_t>(stream->device)].get();
  if (stream == main) {
    for (const cudaStream_t other : Streams::instance().made) {
      if (other->device == stream->device && other->blocking) finish(other, other->queued);
    }
  } else if (stream->blocking) {
    finish(main, main->queued);
  }
}

cudaError_t sticky = cudaSuccess;
thread_local cudaError_t last = cudaSuccess;
std::uint64_t counters[kCounters];

cudaError_t make(cudaStream_t* stream, bool blocking) {
  auto made = std::make_unique<CUstream_st>();
  made->device = current_device();
  made->blocking = blocking;
  *stream = made.release();
  Streams::instance().made.insert(*stream);
  return cudaSuccess;
}

bool is_stream(cudaStream_t stream) { return !stream || Streams::instance().made.contains(stream); }

}  // namespace

std::recursive_mutex& lock() {
  static auto* const mutex = new std::recursive_mutex;
  return *mutex;
}

int& current_device() {
  thread_local int device = 0;
  return device;
}

bool usable() { return Streams::instance().process == getpid(); }

cudaError_t sticky_error() { return sticky; }
void set_sticky_error(cudaError_t error) { sticky = error; }
cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}

void count(Counter counter, std::uint64_t by) { counters[counter] += by; }

void read_counters(std::uint64_t* to, int count) {
  const std::lock_guard guard(lock());
  std::copy_n(counters, std::min<int>(count, kCounters), to);
}

int device_of(cudaStream_t stream) { return resolved(stream)->device; }

cudaError_t enqueue(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (!is_stream(stream)) return cudaErrorInvalidResourceHandle;
  const cudaStream_t to = resolved(stream);
  if (to->graph) {
    to->graph->work.push_back(std::move(work));
    return cudaSuccess;
  }
  run_implied(to);
  to->queue.push_back(std::move(work));
  ++to->queued;
  if (!settings().deferred) run_until(to, to->queued);
  return cudaSuccess;
}

bool is_capturing(cudaStream_t stream) { return resolved(stream)->graph != nullptr; }

cudaError_t invalidate(cudaStream_t stream) {
  if (const cudaGraph_t graph = resolved(stream)->graph) graph->invalid = true;
  return noted(cudaErrorStreamCaptureUnsupported);
}

bool captures(int device) {
  return std::ranges::any_of(Streams::instance().made,
                             [device](cudaStream_t stream) { return stream->device == device && stream->graph; });
}

void drain(cudaStream_t stream) {
  const cudaStream_t of = resolved(stream);
  run_implied(of);
  finish(of, of->queued);
}

void drain_device(int device) {
  Streams& streams = Streams::instance();
  const cudaStream_t main = streams.defaults[static_cast<std::size_t>(device)].get();
  finish(main, main->queued);
  for (const cudaStream_t stream : streams.made) {
    if (stream->device == device) finish(stream, stream->queued);
  }
}

}  // namespace emulation

using emulation::noted;

extern "C" {

/// Copies the counters, in the order of emulation::Counter; Python calls this by ctypes.
void lamella_emulation_counters(std::uint64_t* to, int count) { emulation::read_counters(to, count); }

/// Sets the order of threads and blocks: true for reversed.
void lamella_emulation_reverse(bool reversed) {
  emulation::settings().order = reversed ? emulation::Order::Reversed : emulation::Order::Forward;
}

/// Have cuBLASLt, or cuDNN, find no algorithm for anything from now on, or find them again.
void lamella_emulation_refuse_lt(bool refuse) { emulation::settings().refuse_lt = refuse; }
void lamella_emulation_refuse_cudnn(bool refuse) { emulation::settings().refuse_cudnn = refuse; }

/// Forgets an error that a process on a real device would keep until its end.
void lamella_emulation_forgive() {
  emulation::set_sticky_error(cudaSuccess);
  emulation::last = cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t found = emulation::sticky != cudaSuccess ? emulation::sticky : emulation::last;
  emulation::last = cudaSuccess;
  return found;
}
cudaError_t cudaPeekAtLastError() { return emulation::sticky != cudaSuccess ? emulation::sticky : emulation::last; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::usable()) return noted(cudaErrorInitializationError);
  return emulation::make(stream, (flags & cudaStreamNonBlocking) == 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard guard(emulation::lock());
  if (!stream || !emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  emulation::drain(stream);
  emulation::Streams::instance().made.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::usable()) return noted(cudaErrorInitializationError);
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  if (emulation::is_capturing(stream)) return emulation::invalidate(stream);
  emulation::count(emulation::kWaits);
  emulation::drain(stream);
  return noted(emulation::sticky_error());
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  const cudaStream_t of = emulation::resolved(stream);
  if (of->graph) return emulation::invalidate(stream);
  return emulation::is_done(of, of->queued) ? emulation::sticky_error() : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  if (!event->recorded) return cudaSuccess;
  const cudaStream_t waiting = emulation::resolved(stream);
  if (event->graph) {  // the stream is captured from now on, too
    if (waiting->graph && waiting->graph != event->graph) return noted(cudaErrorStreamCaptureIsolation);
    waiting->graph = event->graph;
    return cudaSuccess;
  }
  if (waiting->graph) return noted(cudaErrorStreamCaptureIsolation);
  return noted(emulation::enqueue(stream, [from = event->stream, position = event->position] {
    return emulation::run_until(from, position) ? cudaSuccess : cudaErrorNotReady;
  }));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  const cudaStream_t of = emulation::resolved(stream);
  *event = {of, of->queued, true, of->graph};
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard guard(emulation::lock());
  if (event->graph) return emulation::invalidate(event->stream);
  emulation::count(emulation::kWaits);
  if (event->recorded) emulation::finish(event->stream, event->position);
  return noted(emulation::sticky_error());
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard guard(emulation::lock());
  const bool done = !event->recorded || emulation::is_done(event->stream, event->position);
  return done ? emulation::sticky_error() : cudaErrorNotReady;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const std::lock_guard guard(emulation::lock());
  // The default stream is never captured.
  if (!stream) return noted(cudaErrorStreamCaptureUnsupported);
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  if (stream->graph) return noted(cudaErrorIllegalState);
  stream->graph = new CUgraph_st;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard guard(emulation::lock());
  *graph = nullptr;
  if (!stream || !emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  if (!stream->graph) return noted(cudaErrorIllegalState);
  const cudaGraph_t captured = stream->graph;
  for (const cudaStream_t other : emulation::Streams::instance().made) {
    if (other->graph == captured) other->graph = nullptr;
  }
  if (captured->invalid) {
    delete captured;
    return noted(cudaErrorStreamCaptureInvalidated);
  }
  *graph = captured;
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const std::lock_guard guard(emulation::lock());
  if (!emulation::is_stream(stream)) return noted(cudaErrorInvalidResourceHandle);
  const cudaGraph_t graph = emulation::resolved(stream)->graph;
  *status = !graph           ? cudaStreamCaptureStatusNone
            : graph->invalid ? cudaStreamCaptureStatusInvalidated
                             : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  *made = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  const std::lock_guard guard(emulation::lock());
  emulation::count(emulation::kLaunches);
  for (const auto& work : graph->work) {
    if (const cudaError_t status = emulation::enqueue(stream, work); status != cudaSuccess) return noted(status);
  }
  return noted(emulation::sticky_error());
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!start->recorded || !end->recorded) return noted(cudaErrorInvalidResourceHandle);
  *milliseconds = 0;
  return cudaSuccess;
}

}  // extern "C"
