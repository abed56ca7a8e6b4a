#pragma once

#include <gloo/context.h>
#include <gloo/rendezvous/store.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/distributed/backend.h"

namespace lamella::distributed::gloo {

/// Returns the device that listens where the options say; on the loopback interface if they say nothing.
std::shared_ptr<::gloo::transport::Device> make_device(const BackendOptions& options);

/// Gives the processes what each says, in the order of their ranks.
using Exchange = std::function<std::vector<std::string>(const std::string& own)>;

/// Returns the exchange through the store that the options name. It is used once.
Exchange exchange_by_store(const BackendOptions& options);

/// Removes the folder of a store of files, so that another program may meet there.
void remove_store(const std::string& address) noexcept;

/// Returns a context whose processes are connected to one another.
std::shared_ptr<::gloo::Context> connect(const std::shared_ptr<::gloo::transport::Device>& device, int rank, int size,
                                         Milliseconds timeout, const Exchange& exchange);

}  // namespace lamella::distributed::gloo
