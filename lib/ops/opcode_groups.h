// Opcodes that many places treat alike, as sets. A set stands here when two files would write it;
// what is a fact of a single opcode is a trait of ops.def.
#pragma once

#include "lib/ops/opcode_set.h"

namespace hlo {

// ---- calls ----

// Run their computations as parts of the program that they stand in, and wait for them.
inline constexpr OpcodeSet kProgramCallers = {Opcode::kWhile, Opcode::kConditional, Opcode::kCall};
// Their results are what the roots of their computations give; of async-start a part of it.
inline constexpr OpcodeSet kBodyRunners = {Opcode::kWhile, Opcode::kConditional, Opcode::kCall,
                                           Opcode::kFusion, Opcode::kAsyncStart};
// Where elements are computed one by one, these run their computations on those elements.
inline constexpr OpcodeSet kElementCallers = {Opcode::kCall, Opcode::kMap, Opcode::kFusion};

// ---- chains ----

// Asynchronous operations of any kind: the computation called says which one.
inline constexpr OpcodeSet kAsyncOps = {Opcode::kAsyncStart, Opcode::kAsyncUpdate,
                                        Opcode::kAsyncDone};
// Take up what async-start began.
inline constexpr OpcodeSet kAsyncSteps = {Opcode::kAsyncUpdate, Opcode::kAsyncDone};

// To and from another device, or the host.
inline constexpr OpcodeSet kSendRecvOps = {Opcode::kSend, Opcode::kSendDone, Opcode::kRecv,
                                           Opcode::kRecvDone};
inline constexpr OpcodeSet kSendRecvStarts = {Opcode::kSend, Opcode::kRecv};
inline constexpr OpcodeSet kSendRecvDones = {Opcode::kSendDone, Opcode::kRecvDone};

// To and from the host's queues, which files may stand for (lib/eval/host_feed.h).
inline constexpr OpcodeSet kFeeds = {Opcode::kInfeed, Opcode::kOutfeed};

// ---- collectives, at once or begun ----

inline constexpr OpcodeSet kAllGathers = {Opcode::kAllGather, Opcode::kAllGatherStart};
inline constexpr OpcodeSet kAllReduces = {Opcode::kAllReduce, Opcode::kAllReduceStart};
inline constexpr OpcodeSet kPermutes = {Opcode::kCollectivePermute,
                                        Opcode::kCollectivePermuteStart};

// Their starts give (operands, results), and their dones element 1.
inline constexpr OpcodeSet kOperandsKeepingStarts = {Opcode::kAllGatherStart,
                                                     Opcode::kCollectivePermuteStart};
inline constexpr OpcodeSet kOperandsKeepingDones = {Opcode::kAllGatherDone,
                                                    Opcode::kCollectivePermuteDone};

// Tell a device which one it is.
inline constexpr OpcodeSet kDeviceIds = {Opcode::kReplicaId, Opcode::kPartitionId};

// ---- arithmetic ----

// Of a scalar they make that scalar.
inline constexpr OpcodeSet kScalarKeepers = {Opcode::kReshape,   Opcode::kBitcast,
                                             Opcode::kBroadcast, Opcode::kTranspose,
                                             Opcode::kCopy,      Opcode::kOptimizationBarrier,
                                             Opcode::kReverse,   Opcode::kDomain};
inline constexpr OpcodeSet kMatrixProducts = {Opcode::kDot, Opcode::kConvolution};
// Apply a computation of two scalars again and again to what they reduce.
inline constexpr OpcodeSet kReduceOps = {Opcode::kReduce, Opcode::kReduceWindow};
inline constexpr OpcodeSet kBatchNorms = {Opcode::kBatchNormTraining, Opcode::kBatchNormInference,
                                          Opcode::kBatchNormGrad};

}  // namespace hlo
