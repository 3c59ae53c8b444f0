// A random program while it grows: a computation, the values it has so far, and how to make more.
//
//   Sketch sketch(module, module.AddEntry("main"), palette, random);
//   while (…) PickRow(random).grow(sketch);       // rows.h
//   sketch.Close();
//
// What a row builds goes through Builder, which refuses what does not fit, so a row may guess: a
// wrong guess adds nothing.
#pragma once

#include <functional>
#include <vector>

#include "lib/ir/builder.h"
#include "lib/ir/module.h"
#include "tools/fuzz/random.h"

namespace hlo {

// What a whole program is made of, so that its values fit together.
struct Palette {
  std::vector<ElementType> types;  // not empty; the first is the most frequent
  int64_t max_elements = 512;      // of one array
  int max_depth = 2;               // of nested computations
};
Palette RandomPalette(FuzzRandom& random);

class Sketch {
 public:
  Sketch(Module& module, Computation* computation, const Palette& palette, FuzzRandom& random,
         int depth = 0)
      : module_(module),
        computation_(computation),
        palette_(palette),
        random_(random),
        depth_(depth) {}

  Module& module() { return module_; }
  Computation* computation() { return computation_; }
  FuzzRandom& random() { return random_; }
  const Palette& palette() const { return palette_; }
  int depth() const { return depth_; }
  bool MayNest() const { return depth_ < palette_.max_depth; }

  // ---- values ----
  // An array that is there, late ones more often; a fresh one when there is none.
  Instruction* Any();
  // One that the predicate takes, or null.
  Instruction* AnyWhere(const std::function<bool(const Instruction&)>& takes);
  // One of this shape: there already, or fresh.
  Instruction* Value(Shape shape);
  // Of dynamic sizes there is only what has them already: `x` itself, if nothing else.
  Instruction* Like(Instruction* x);
  // A new leaf: a parameter (of the entry), a constant, an iota or a broadcast.
  Instruction* Fresh(Shape shape);
  // A random scalar constant or a scalar parameter.
  Instruction* Scalar(ElementType type);
  // Dimensions whose product is in bounds.
  DimVec Dims();
  int64_t Dim(int64_t most);
  // The number of one of its dimensions, of which it has some.
  int64_t SomeDimension(const Instruction* x) {
    return static_cast<int64_t>(random_.Below(static_cast<size_t>(x->shape().rank())));
  }
  // The numbers of some, at least one, of so many dimensions.
  DimVec SomeDimensions(int rank);
  ElementType Type();
  // An element type of the palette that the predicate takes, else `otherwise`.
  ElementType TypeWhere(bool (*takes)(ElementType), ElementType otherwise);

  // ---- growing ----
  // Calls `build` with a builder; keeps its result as a value. Null when the builder refuses it or
  // it is too large.
  Instruction* Make(const std::function<Instruction*(Builder&)>& build);
  Instruction* Op(Opcode opcode, absl::Span<Instruction* const> operands, AttrsPtr attrs = {},
                  absl::Span<Computation* const> calls = {}) {
    return Make([&](Builder& b) { return b.Op(opcode, operands, attrs, calls); });
  }
  // Makes it a value that others may use.
  void Keep(Instruction* value) { values_.push_back(value); }
  // The root: what nobody uses, as a tuple if it is several values.
  void Close();
  // The root has this shape.
  void CloseAs(Shape shape);

 private:
  Literal RandomLiteral(Shape shape);
  bool IsSmall(Shape shape) const;

  Module& module_;
  Computation* computation_;
  const Palette& palette_;
  FuzzRandom& random_;
  int depth_;
  std::vector<Instruction*> values_;
};

}  // namespace hlo
