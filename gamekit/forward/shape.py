"""The shapes of decoder layers: their sizes, and how many weights those sizes come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gamekit.errors import UsageFault


@dataclass(frozen=True)
class GroupedAttention:
    """Grouped-query attention: several query heads share one head of keys and values."""

    heads: int
    kv_heads: int
    head_dim: int

    def matrix_weights(self, hidden: int) -> int:
        """Weights of the query, key, value and output projections of one layer."""
        return hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)

    @property
    def norm_weights(self) -> int:
        """Weights of norms inside the attention of one layer."""
        return 0

    @property
    def cached(self) -> int:
        """Numbers that one layer keeps of one token."""
        return 2 * self.kv_heads * self.head_dim

    @property
    def mask_rows(self) -> int:
        """Rows of the mask for one new token: the query heads of a group stand below each other."""
        return self.heads // self.kv_heads

    def sharded(self, shards: int) -> GroupedAttention:
        """What one of ``shards`` ranks has; a key-value head that cannot be split is copied."""
        return replace(
            self,
            heads=_split("heads", self.heads, shards),
            kv_heads=max(1, self.kv_heads // shards),
        )


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (MLA): all heads share one compressed key-value vector a token.

    The names are those of DeepSeek-V3's configuration.
    """

    heads: int
    q_lora_rank: int = 1536
    kv_lora_rank: int = 512
    qk_nope_head_dim: int = 128
    qk_rope_head_dim: int = 64
    v_head_dim: int = 128

    def matrix_weights(self, hidden: int) -> int:
        """Weights of the down and up projections of queries and latents, and of the output's."""
        query = self.heads * (self.qk_nope_head_dim + self.qk_rope_head_dim)
        latent = self.heads * (self.qk_nope_head_dim + self.v_head_dim)
        return (
            hidden * (self.q_lora_rank + self.cached)
            + self.q_lora_rank * query
            + self.kv_lora_rank * latent
            + self.heads * self.v_head_dim * hidden
        )

    @property
    def norm_weights(self) -> int:
        """Weights of the norms of the compressed queries and latents of one layer."""
        return self.q_lora_rank + self.kv_lora_rank

    @property
    def cached(self) -> int:
        """Numbers that one layer keeps of one token: the latent, and the rotated part of a key."""
        return self.kv_lora_rank + self.qk_rope_head_dim

    @property
    def mask_rows(self) -> int:
        """Rows of the mask for one new token: all heads work on the same latents."""
        return self.heads

    def sharded(self, shards: int) -> LatentAttention:
        """What one of ``shards`` ranks has: its heads. Compression and cache are on every rank."""
        return replace(self, heads=_split("heads", self.heads, shards))


@dataclass(frozen=True)
class DenseFeedForward:
    """A gated feed-forward network that every token passes."""

    intermediate: int

    def dense_weights(self, hidden: int) -> int:
        """Weights that every forward reads, in one layer."""
        return 3 * hidden * self.intermediate

    def expert_weights(self, hidden: int) -> int:  # noqa: ARG002 - the experts' interface
        """Weights of one routed expert: there is none."""
        return 0

    def sharded(self, shards: int) -> DenseFeedForward:
        """What one of ``shards`` ranks has."""
        return replace(self, intermediate=_split("intermediate", self.intermediate, shards))


@dataclass(frozen=True)
class ExpertFeedForward:
    """A mixture of experts: each token passes ``per_token`` routed experts and all shared ones."""

    experts: int
    per_token: int
    intermediate: int
    shared: int = 1

    def dense_weights(self, hidden: int) -> int:
        """Weights that every forward reads, in one layer: the router and the shared experts."""
        return hidden * self.experts + self.shared * self.expert_weights(hidden)

    def expert_weights(self, hidden: int) -> int:
        """Weights of one expert."""
        return 3 * hidden * self.intermediate

    def sharded(self, shards: int) -> ExpertFeedForward:
        """What one of ``shards`` ranks has: its part of every expert, and the whole router."""
        return replace(self, intermediate=_split("intermediate", self.intermediate, shards))


@dataclass(frozen=True)
class Shape:
    """Decoder layers that are all alike: ``layers`` of the ``model_layers`` that the model has.

    Embedding, last norm and output head are no part of it, nor are layers of another kind, such as
    the few dense ones before DeepSeek-V3's mixtures of experts.
    """

    name: str
    hidden: int
    layers: int
    model_layers: int
    attention: GroupedAttention | LatentAttention
    feed_forward: DenseFeedForward | ExpertFeedForward

    @property
    def dense_weights(self) -> int:
        """Weights of one layer that every forward reads, whatever its tokens are."""
        return (
            self.attention.matrix_weights(self.hidden)
            + self.attention.norm_weights
            + 2 * self.hidden  # the norms before attention and feed-forward network
            + self.feed_forward.dense_weights(self.hidden)
        )

    @property
    def expert_weights(self) -> int:
        """Weights of one routed expert of one layer; 0 where there is none."""
        return self.feed_forward.expert_weights(self.hidden)

    @property
    def experts(self) -> int:
        """Routed experts of one layer; 0 where there is none."""
        feed_forward = self.feed_forward
        return feed_forward.experts if isinstance(feed_forward, ExpertFeedForward) else 0

    @property
    def experts_per_token(self) -> int:
        """Routed experts that one token passes in one layer; 0 where there is none."""
        feed_forward = self.feed_forward
        return feed_forward.per_token if isinstance(feed_forward, ExpertFeedForward) else 0

    @property
    def weights(self) -> int:
        """Weights of all ``layers`` together."""
        return self.layers * (self.dense_weights + self.experts * self.expert_weights)

    def sharded(self, shards: int) -> Shape:
        """The part that one of ``shards`` tensor-parallel ranks has.

        Raises ``UsageFault`` for a number that does not divide heads and intermediate size.
        """
        if shards == 1:
            return self
        return replace(
            self,
            attention=self.attention.sharded(shards),
            feed_forward=self.feed_forward.sharded(shards),
        )


def llama_8b() -> Shape:
    """Llama 3 8B (config.json of meta-llama/Meta-Llama-3-8B), all of its layers."""
    return Shape(
        name="llama-8b",
        hidden=4096,
        layers=32,
        model_layers=32,
        attention=GroupedAttention(heads=32, kv_heads=8, head_dim=128),
        feed_forward=DenseFeedForward(intermediate=14336),
    )


def deepseek_v3_slice() -> Shape:
    """Four of DeepSeek-V3's layers with experts (config.json of deepseek-ai/DeepSeek-V3)."""
    return Shape(
        name="deepseek-v3-slice",
        hidden=7168,
        layers=4,
        model_layers=61,
        attention=LatentAttention(heads=128),
        feed_forward=ExpertFeedForward(experts=256, per_token=8, intermediate=2048),
    )


def kimi_k2_slice() -> Shape:
    """Two of Kimi-K2's layers with experts (config.json of moonshotai/Kimi-K2-Instruct)."""
    return Shape(
        name="kimi-k2-slice",
        hidden=7168,
        layers=2,
        model_layers=61,
        attention=LatentAttention(heads=64),
        feed_forward=ExpertFeedForward(experts=384, per_token=8, intermediate=2048),
    )


SHAPES: dict[str, Callable[[], Shape]] = {
    "llama-8b": llama_8b,
    "deepseek-v3-slice": deepseek_v3_slice,
    "kimi-k2-slice": kimi_k2_slice,
}


def shape_of(
    name: str,
    *,
    layers: int | None = None,
    hidden: int | None = None,
    intermediate: int | None = None,
    experts: int | None = None,
    experts_per_token: int | None = None,
) -> Shape:
    """The shape of that name, with other sizes where they are given.

    ``intermediate`` is that of the dense network, or of each expert. Raises ``UsageFault`` for a
    size that the shape does not have or that does not fit the others.
    """
    shape = SHAPES[name]()
    feed_forward = shape.feed_forward
    if isinstance(feed_forward, ExpertFeedForward):
        feed_forward = replace(
            feed_forward,
            experts=experts or feed_forward.experts,
            per_token=experts_per_token or feed_forward.per_token,
        )
        if feed_forward.per_token > feed_forward.experts:
            raise UsageFault(
                f"{feed_forward.per_token} experts a token of {feed_forward.experts} experts",
                mend="give as many experts as a token takes, or more",
            )
    elif experts is not None or experts_per_token is not None:
        raise UsageFault(
            f"{name} has no routed experts", mend="leave experts and experts_per_token out"
        )
    if intermediate is not None:
        feed_forward = replace(feed_forward, intermediate=intermediate)
    return replace(
        shape,
        layers=layers or shape.layers,
        hidden=hidden or shape.hidden,
        feed_forward=feed_forward,
    )


def _split(what: str, size: int, shards: int) -> int:
    if size % shards:
        raise UsageFault(
            f"{size} {what} cannot be split into {shards} equal shards",
            mend=f"give shards that divide {size}",
        )
    return size // shards
