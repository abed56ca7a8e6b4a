// The device as Lamella knows it: memory, copies, streams.

#include <lamella/device.h>

#include <cstring>
#include <memory>
#include <vector>

#include "simulator.h"

namespace {

sim::Stream& stream_of(int device, void* stream) {
  return stream ? *static_cast<sim::Stream*>(stream) : sim::own_stream(device);
}

class SimNpu final : public lamella::DeviceBackend {
 public:
  int device_count() const noexcept override { return sim::kDevices; }

  void* allocate(int device, std::size_t bytes) override { return sim::allocate(device, bytes); }
  void deallocate(int device, void* pointer) noexcept override { sim::release(device, pointer); }

  void copy_from_host(int device, void* to, const void* from, std::size_t bytes, void* stream) override {
    // The program may change its memory at once, and the copy is made later: it is of a copy.
    const auto* first = static_cast<const char*>(from);
    auto staged = std::make_shared<const std::vector<char>>(first, first + bytes);
    sim::launch(stream_of(device, stream),
                [to, staged] { std::memcpy(sim::on_device(to), staged->data(), staged->size()); });
  }
  void copy_to_host(int device, void* to, const void* from, std::size_t bytes, void* stream) override {
    sim::launch(stream_of(device, stream), [=] { std::memcpy(to, sim::on_device(from), bytes); });
    sim::wait(stream_of(device, stream));
  }
  void copy_on_device(int device, void* to, const void* from, std::size_t bytes, void* stream) override {
    sim::launch(stream_of(device, stream), [=] { std::memcpy(sim::on_device(to), sim::on_device(from), bytes); });
  }

  void synchronize(int) override { sim::wait_for_all(); }
  void* create_stream(int) override { return sim::create_stream(); }
  void destroy_stream(int, void* stream) noexcept override { sim::destroy_stream(static_cast<sim::Stream*>(stream)); }
  void synchronize_stream(int device, void* stream) override { sim::wait(stream_of(device, stream)); }

  void shutdown() noexcept override { sim::shut_down(); }
};

}  // namespace

// Here an error (another device is there already, say) is the error of loading the library.
LAMELLA_LIBRARY_FRAGMENT(sim_npu, m) { lamella::register_device_backend("npu", std::make_unique<SimNpu>()); }
