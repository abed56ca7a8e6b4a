#pragma once

#include "ops/distributed/collectives.h"
#include "ops/op_info.h"

namespace lamella {

/// Operators of several processes.
using DistributedOps = OpList<                                                                   //
    DistributedAllReduce, DistributedAllGather, DistributedReduceScatter, DistributedBroadcast,  //
    DistributedReduce, DistributedGather, DistributedScatter, DistributedAllToAll, DistributedSend,
    DistributedRecv  // collectives
    >;

}  // namespace lamella
