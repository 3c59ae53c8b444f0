// What --output=[N:]FILE writes: all outputs, or output N. The end of the name says how.
//
//   .npz          out0, out1, …               .npy   one array
//   .txt          literals, one a line        .bin   the bytes of one array, as in memory
//   .pb, .pbtxt   XLA's LiteralProto of the whole result, or of one output
//   -             literals on standard output
//
// What is written reads back as input and as --expected; .bin with its shape: f32[4]=@FILE.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lib/eval/in_process_communicator.h"
#include "lib/types/literal.h"

namespace hlo {

// "" or what is wrong with a value of the flag.
std::string OutputFileMistake(const std::string& word);

// Whether the files could be written, and hold results of this shape.
absl::Status CheckOutputFiles(const std::vector<std::string>& words, Shape result_shape);

// Writes them all, or none. Of several devices each has its own files: `a.npy` of device 2 is
// `a.device2.npy`.
absl::Status WriteOutputFiles(const std::vector<std::string>& words,
                              absl::Span<const Literal> results, const DeviceMesh& mesh);

}  // namespace hlo
