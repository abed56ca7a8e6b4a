#pragma once

// Macros over sequences `(a)(b)(c)`, by which sources register kernels for all pairs of a device and a type:
//
//     #define REGISTER(device, type) REGISTER_USER_KERNEL("relu").SetCreateFn<Relu<device, OF_PP_PAIR_FIRST(type)>>();
//     OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(REGISTER, OF_PP_MAKE_TUPLE_SEQ(DeviceType::kCPU), FLOATING_DATA_TYPE_SEQ)

#define OF_PP_CAT(a, b) OF_PP_OWN_CAT_(a, b)
#define OF_PP_STRINGIZE(x) OF_PP_OWN_STRINGIZE_(x)
#define OF_PP_PAIR_FIRST(pair) OF_PP_OWN_FIRST_ pair
#define OF_PP_PAIR_SECOND(pair) OF_PP_OWN_SECOND_ pair
/// `(a, b)` as an element of a sequence, whose elements are tuples.
#define OF_PP_MAKE_TUPLE_SEQ(...) ((__VA_ARGS__))
#define OF_PP_ATOMIC_TO_TUPLE(x) (x)

/// Calls `macro` with the parts of each tuple of a sequence.
#define OF_PP_FOR_EACH_TUPLE(macro, seq) OF_PP_OWN_SCAN_EACH_(OF_PP_OWN_EACH_(OF_PP_OWN_BARE_, macro, seq))
/// As OF_PP_FOR_EACH_TUPLE, for a macro that uses that one itself.
#define OF_PP_OUTTER_FOR_EACH_TUPLE(macro, seq) OF_PP_OWN_SCAN_OUTER_(OF_PP_OWN_EACH_(OF_PP_OWN_BARE_, macro, seq))
/// Calls `macro` with each element of a sequence.
#define OF_PP_FOR_EACH_ATOMIC(macro, seq) OF_PP_OWN_SCAN_EACH_(OF_PP_OWN_EACH_(OF_PP_OWN_KEPT_, macro, seq))
/// Calls `macro` with one element of each sequence, for all combinations; the last sequence runs fastest.
#define OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(macro, seq, ...) \
  OF_PP_OWN_SCAN_PRODUCT_(OF_PP_OWN_WALK_(macro, (), seq, (__VA_ARGS__)))
/// The combinations themselves, as a sequence of tuples.
#define OF_PP_SEQ_PRODUCT(seq, ...) OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OF_PP_MAKE_TUPLE_SEQ, seq, __VA_ARGS__)
/// The sequence of what `macro` makes of each element.
#define OF_PP_SEQ_MAP(macro, seq) OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(OF_PP_OWN_MAPPED_, (macro), seq)

// The macros below serve those above. A macro is not replaced within itself, so a walk through a sequence puts its next
// step off by OF_PP_OWN_NONE_, and the text is scanned 85 times. Each kind of walk has scans of its own, so that a
// macro that is called in one kind may use another.
#define OF_PP_OWN_CAT_(a, b) a##b
#define OF_PP_OWN_STRINGIZE_(x) #x
#define OF_PP_OWN_FIRST_(a, ...) a
#define OF_PP_OWN_SECOND_(a, b, ...) b
#define OF_PP_OWN_MAPPED_(macro, x) (macro(x))
#define OF_PP_OWN_NONE_
#define OF_PP_OWN_BARE_(...) __VA_ARGS__
#define OF_PP_OWN_KEPT_(...) (__VA_ARGS__)
/// 1 if there are arguments, else 0.
#define OF_PP_OWN_ANY_(...) OF_PP_OWN_ANY_OF_(__VA_OPT__(0, 1, ) 0, 0)
#define OF_PP_OWN_ANY_OF_(...) OF_PP_OWN_SECOND_(__VA_ARGS__)
/// Parts a sequence into its first element, in parentheses, and the others: OF_PP_OWN_SPLIT_ seq.
#define OF_PP_OWN_SPLIT_(...) (__VA_ARGS__),
#define OF_PP_OWN_PICK_(a, b) OF_PP_OWN_PICK_JOINED_(a, b)
#define OF_PP_OWN_PICK_JOINED_(a, b) a##b

#define OF_PP_OWN_EACH_(form, macro, seq) OF_PP_OWN_EACH_PARTED_(form, macro, OF_PP_OWN_SPLIT_ seq)
#define OF_PP_OWN_EACH_PARTED_(...) OF_PP_OWN_EACH_STEP_(__VA_ARGS__)
#define OF_PP_OWN_EACH_STEP_(form, macro, head, tail) \
  macro form head OF_PP_OWN_PICK_(OF_PP_OWN_EACH_NEXT_, OF_PP_OWN_ANY_(tail))(form, macro, tail)
#define OF_PP_OWN_EACH_NEXT_0(form, macro, seq)
#define OF_PP_OWN_EACH_NEXT_1(form, macro, seq) OF_PP_OWN_EACH_AGAIN_ OF_PP_OWN_NONE_()(form, macro, seq)
#define OF_PP_OWN_EACH_AGAIN_() OF_PP_OWN_EACH_

/// Walks along `seq`; from each element, down to the sequences of the tuple `rest`. `chosen` are those from above.
#define OF_PP_OWN_WALK_(macro, chosen, seq, rest) OF_PP_OWN_WALK_PARTED_(macro, chosen, rest, OF_PP_OWN_SPLIT_ seq)
#define OF_PP_OWN_WALK_PARTED_(...) OF_PP_OWN_WALK_STEP_(__VA_ARGS__)
#define OF_PP_OWN_WALK_STEP_(macro, chosen, rest, head, tail)                                        \
  OF_PP_OWN_PICK_(OF_PP_OWN_DOWN_, OF_PP_OWN_ANY_ rest)(macro, OF_PP_OWN_ADDED_(chosen, head), rest) \
      OF_PP_OWN_PICK_(OF_PP_OWN_ALONG_, OF_PP_OWN_ANY_(tail))(macro, chosen, tail, rest)
#define OF_PP_OWN_ADDED_(chosen, head) (OF_PP_OWN_FOLLOWED_ chosen OF_PP_OWN_BARE_ head)
#define OF_PP_OWN_FOLLOWED_(...) __VA_ARGS__ __VA_OPT__(, )
#define OF_PP_OWN_DOWN_0(macro, chosen, rest) macro OF_PP_OWN_NONE_ chosen
#define OF_PP_OWN_DOWN_1(macro, chosen, rest) \
  OF_PP_OWN_WALK_AGAIN_ OF_PP_OWN_NONE_()(macro, chosen, OF_PP_OWN_FIRST_ rest, (OF_PP_OWN_OTHERS_ rest))
#define OF_PP_OWN_OTHERS_(a, ...) __VA_ARGS__
#define OF_PP_OWN_ALONG_0(macro, chosen, seq, rest)
#define OF_PP_OWN_ALONG_1(macro, chosen, seq, rest) OF_PP_OWN_WALK_AGAIN_ OF_PP_OWN_NONE_()(macro, chosen, seq, rest)
#define OF_PP_OWN_WALK_AGAIN_() OF_PP_OWN_WALK_

#define OF_PP_OWN_SCAN_EACH_(...) \
  OF_PP_OWN_SCAN_EACH_2_(OF_PP_OWN_SCAN_EACH_2_(OF_PP_OWN_SCAN_EACH_2_(OF_PP_OWN_SCAN_EACH_2_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_EACH_2_(...) \
  OF_PP_OWN_SCAN_EACH_1_(OF_PP_OWN_SCAN_EACH_1_(OF_PP_OWN_SCAN_EACH_1_(OF_PP_OWN_SCAN_EACH_1_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_EACH_1_(...) \
  OF_PP_OWN_SCAN_EACH_0_(OF_PP_OWN_SCAN_EACH_0_(OF_PP_OWN_SCAN_EACH_0_(OF_PP_OWN_SCAN_EACH_0_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_EACH_0_(...) __VA_ARGS__
#define OF_PP_OWN_SCAN_OUTER_(...) \
  OF_PP_OWN_SCAN_OUTER_2_(OF_PP_OWN_SCAN_OUTER_2_(OF_PP_OWN_SCAN_OUTER_2_(OF_PP_OWN_SCAN_OUTER_2_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_OUTER_2_(...) \
  OF_PP_OWN_SCAN_OUTER_1_(OF_PP_OWN_SCAN_OUTER_1_(OF_PP_OWN_SCAN_OUTER_1_(OF_PP_OWN_SCAN_OUTER_1_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_OUTER_1_(...) \
  OF_PP_OWN_SCAN_OUTER_0_(OF_PP_OWN_SCAN_OUTER_0_(OF_PP_OWN_SCAN_OUTER_0_(OF_PP_OWN_SCAN_OUTER_0_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_OUTER_0_(...) __VA_ARGS__
#define OF_PP_OWN_SCAN_PRODUCT_(...) \
  OF_PP_OWN_SCAN_PRODUCT_2_(         \
      OF_PP_OWN_SCAN_PRODUCT_2_(OF_PP_OWN_SCAN_PRODUCT_2_(OF_PP_OWN_SCAN_PRODUCT_2_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_PRODUCT_2_(...) \
  OF_PP_OWN_SCAN_PRODUCT_1_(           \
      OF_PP_OWN_SCAN_PRODUCT_1_(OF_PP_OWN_SCAN_PRODUCT_1_(OF_PP_OWN_SCAN_PRODUCT_1_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_PRODUCT_1_(...) \
  OF_PP_OWN_SCAN_PRODUCT_0_(           \
      OF_PP_OWN_SCAN_PRODUCT_0_(OF_PP_OWN_SCAN_PRODUCT_0_(OF_PP_OWN_SCAN_PRODUCT_0_(__VA_ARGS__))))
#define OF_PP_OWN_SCAN_PRODUCT_0_(...) __VA_ARGS__
