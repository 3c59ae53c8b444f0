// The arguments of a run: from literals, .npy and .npz files, folders, a model's .json file, or
// made from a seed.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/ir/module.h"
#include "lib/types/literal.h"
#include "tools/run/model_file.h"
#include "tools/support/leaves.h"

namespace hlo {

// How inputs are made that nobody gives: all, or those of a parameter by number or name. Later ones
// count.
template <class What>
struct MadeInput {
  std::string parameter;  // empty: all
  What what;
};
// "[PARAMETER:]WHAT" apart.
MadeInput<std::string_view> SplitMadeInput(std::string_view word);

// Where arguments come from; at most one of the first three is given.
struct InputSources {
  std::vector<std::string>
      words;  // literals, or names of .npy, .npz and text files ("@file" or "file")
  std::string directory;
  std::string model_file;
  std::optional<uint64_t> seed;                    // makes what the others do not give
  std::vector<std::string> distributions, ranges;  // of that, as --input-dist and --input-range say
  std::vector<Literal> recorded;  // with the module; used where nothing else is said
  bool explain = false;  // notes say of each input where it comes from, and what is demanded
};

struct Arguments {
  std::vector<Literal> values;     // one for each parameter
  std::vector<std::string> notes;  // what the user should know: "inputs are made from seed 42"
};

// The arguments of the entry computation. Errors name the file, the parameter, what is expected and
// what is found.
absl::StatusOr<Arguments> MakeArguments(const Module& module, const InputSources& sources);

// The arguments that a model's file describes.
absl::StatusOr<std::vector<Literal>> MakeModelArguments(const Module& module,
                                                        const ModelFile& model);

// All literals of a text, one after the other: "f32[2] {1, 2} s32[] 3"; `//` and `#` start
// comments.
absl::StatusOr<std::vector<Literal>> ParseLiterals(const std::string& text);
// The literal of "SHAPE VALUE". After a blank braces are values, never a layout: "f32[2] {1, 2}".
absl::StatusOr<Literal> ParseShapeAndLiteral(std::string_view text);
// The literals of one word as described above; npz members are found by the names of the
// leaves, or else by their numbers.
// `expected` are the shapes of the next leaves, which arrays of files are checked against.
struct LiteralFromWord {
  Literal value;
  std::string origin;  // for messages: the file, or "argument `…`"
};
absl::StatusOr<std::vector<LiteralFromWord>> ReadWord(const std::string& word,
                                                      const std::vector<ParameterLeaf>& leaves,
                                                      size_t at);

}  // namespace hlo
